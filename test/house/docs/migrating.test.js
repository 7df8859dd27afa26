'use strict';

// The tables of docs/migrating: each row is run, with the other library and with holdfast, and both
// have to give what the third column says.

const { mkdtempSync, rmSync, writeFileSync } = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const asyncMutex = require('async-mutex');
const lockfile = require('proper-lockfile');
const holdfast = require('../../../lib/index.js');
const { tablesOf } = require('../../support/markdown.js');

const AsyncFunction = async function () {}.constructor;

/** The code in the backticks of a cell. */
const codeOf = (cell) => /^`(.*)`$/.exec(cell)?.[1];

/** Rows of the tables whose third column is `result`. */
function rowsOf(page) {
  const rows = tablesOf(`docs/migrating/${page}.md`)
    .filter(([heading]) => heading[2] === 'result')
    .flatMap(([, ...cells]) => cells);
  return rows.map((cells) => {
    const [theirs, ours, result] = cells.map(codeOf);
    return { theirs, ours, result: new Function(`return ${result}`)() };
  });
}

/** @param {string} code  the last expression is the result, where nothing is returned */
const run = (code, names) => {
  const body = /\breturn\b/.test(code) ? code : `return ${code}`;
  return new AsyncFunction(...Object.keys(names), body)(...Object.values(names));
};

let directory;
beforeEach(() => {
  directory = mkdtempSync(path.join(os.tmpdir(), 'holdfast-rows-'));
});
afterEach(() => rmSync(directory, { recursive: true }));

/** Runs code with separate `locks`. */
async function runOurs(code, names) {
  const locks = holdfast.openLockManager({ directory });
  try {
    return await run(code, { ...names(locks), locks });
  } finally {
    locks.close();
  }
}

describe('from async-mutex', () => {
  const rows = rowsOf('async-mutex');
  test('there are rows', () => expect(rows.length).toBeGreaterThan(5));

  test.each(rows)('$theirs', async ({ theirs, result }) => {
    const mutex = new asyncMutex.Mutex();
    const semaphore = new asyncMutex.Semaphore(2);
    expect(await run(theirs, { ...asyncMutex, mutex, semaphore })).toBe(result);
  });
  test.each(rows)('becomes $ours', async ({ ours, result }) => {
    const names = (manager) => ({
      LockError: holdfast.LockError,
      mutex: new holdfast.Mutex('mutex', { manager }),
      semaphore: new holdfast.Semaphore('semaphore', 2, { manager }),
    });
    expect(await runOurs(ours, names)).toBe(result);
  });
});

describe('from proper-lockfile', () => {
  const rows = rowsOf('proper-lockfile');
  test('there are rows', () => expect(rows.length).toBeGreaterThan(3));

  test.each(rows)('$theirs', async ({ theirs, result }) => {
    const file = path.join(directory, 'file');
    writeFileSync(file, '');
    expect(await run(theirs, { lockfile, file })).toBe(result);
    await lockfile.unlock(file).catch(() => {}); // the rows leave it as it is
  });
  test.each(rows)('becomes $ours', async ({ ours, result }) => {
    expect(await runOurs(ours, () => ({ file: path.join(directory, 'file') }))).toBe(result);
  });
});

describe('from redlock', () => {
  const rows = rowsOf('redlock');
  test('there are rows', () => expect(rows.length).toBeGreaterThan(3));

  test.each(rows)('is JavaScript: $theirs', ({ theirs }) => {
    expect(() => new AsyncFunction('redlock', theirs)).not.toThrow();
  });
  test.each(rows)('becomes $ours', async ({ ours, result }) => {
    expect(await runOurs(ours, () => ({}))).toBe(result);
  });
});

describe('from navigator.locks', () => {
  const rows = rowsOf('navigator-locks');
  const nodeLocks = globalThis.navigator?.locks;
  test('there are rows', () => expect(rows.length).toBeGreaterThan(5));

  test.each(rows)('$theirs, as holdfast/install has it', async ({ theirs, result }) => {
    const names = (locks) => ({ navigator: { locks } });
    expect(await runOurs(theirs, names)).toBe(result);
  });
  test.each(rows)('becomes $ours', async ({ ours, result }) => {
    expect(await runOurs(ours, () => ({}))).toBe(result);
  });
  const onNode = nodeLocks === undefined ? test.skip : test;
  // Skipped before Node 24, which has no `navigator.locks`.
  onNode.each(rows)("$theirs, with Node's own", async ({ theirs, result }) => {
    expect(await run(theirs, { navigator: { locks: nodeLocks } })).toBe(result);
  });
});
