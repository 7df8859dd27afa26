'use strict';

// In processes of their own, which hear of their warnings and decide if call chains are followed.

const { spawn } = require('node:child_process');
const { mkdtempSync, rmSync } = require('node:fs');
const { join } = require('node:path');
const { contextsAreCheap } = require('../../../lib/node-internals.js');

const LIBRARY = join(__dirname, '../../../lib/index.js');
const HOW_LONG = 8000;

let directory;
beforeAll(() => {
  directory = mkdtempSync('/dev/shm/holdfast-possible-');
});
afterAll(() => rmSync(directory, { recursive: true }));

/** Starts a program with `locks`, which ends by itself; gives what it was warned of. */
function run(manager, body) {
  const program = `
    const lib = require(${JSON.stringify(LIBRARY)});
    const locks = ${manager};
    const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
    const messages = [];
    process.on('warning', ({ code, message }) => messages.push({ code, message }));
    setTimeout(() => {
      console.log(JSON.stringify(messages));
      process.exit();
    }, ${HOW_LONG});
    ${body}`;
  const child = spawn(process.execPath, ['-e', program], {
    env: { ...process.env, HOLDFAST_DIR: directory },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  let output = '';
  child.stdout.on('data', (text) => (output += text));
  return new Promise((resolve) => {
    child.on('close', () => resolve(JSON.parse(output).map(({ message }) => message)));
  });
}

const MANAGERS = [
  ['local', 'lib.createLocalLockManager()'],
  ['shared memory', 'lib.locks'],
];

test.concurrent.each(MANAGERS)(
  'a thread that waits for its own handle (%s)',
  async (_, manager) => {
    const messages = await run(
      manager,
      `locks.acquire('own', { label: 'first' }).then((handle) => {
      globalThis.handle = handle;
      locks.acquire('own', { label: 'second' });
    });`,
    );
    expect(messages).toHaveLength(1);
    expect(messages[0]).toMatch(/^Possible deadlock: .*'own' \(label 'second', .*process \d+/);
  },
);

test.concurrent('two processes that take two names in opposite order, after an await', async () => {
  const take = (first, second) => `
    locks.request('${first}', async () => {
      while ((await locks.query()).held.filter(({ name }) => /^opposite/.test(name)).length < 2);
      await locks.request('${second}', () => {});
    });`;
  const both = await Promise.all([
    run('lib.locks', take('opposite 1', 'opposite 2')),
    run('lib.locks', take('opposite 2', 'opposite 1')),
  ]);
  const messages = both.flat();
  expect(messages).toHaveLength(1);
  expect(messages[0]).toMatch(/eadlock: /);
  for (const name of ["'opposite 1'", "'opposite 2'"]) expect(messages[0]).toContain(name);
});

test.concurrent.each(MANAGERS)(
  'a reentrant request under a lock that was taken without it (%s)',
  async (_, manager) => {
    const messages = await run(
      manager,
      `locks.request('mine', async () => {
        await sleep(1);
        await locks.request('mine', { reentrant: true }, () => console.error('granted'));
      });`,
    );
    // From Node 24 on the chain is followed, and the request granted.
    expect(messages).toHaveLength(contextsAreCheap ? 0 : 1);
  },
);

test.concurrent.each(MANAGERS)('but not who waits for a leader (%s)', async (_, manager) => {
  const lead = (name) => `locks.request('${name}', () => new Promise(() => {}));`;
  const programs = [lead('leader'), `locks.acquire('leader');`, lead('leader') + lead('other')];
  const all = manager === 'lib.locks' ? programs : [programs.join('')];
  const messages = await Promise.all(all.map((program) => run(manager, program)));
  expect(messages.flat()).toEqual([]);
});
