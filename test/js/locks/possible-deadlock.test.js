'use strict';

// In processes of their own, which hear of their warnings and decide if call chains are followed.

const { spawn } = require('node:child_process');
const { mkdtempSync, rmSync } = require('node:fs');
const { join } = require('node:path');
const { createInterface } = require('node:readline');
const { setTimeout: pause } = require('node:timers/promises');
const { contextsAreCheap } = require('../../../lib/node-internals.js');

const LIBRARY = join(__dirname, '../../../lib/index.js');
/** A possible deadlock is told after five seconds: what is none is looked at for longer. */
const HOW_LONG_MS = 8000;
/** After the first warning, for a second one that must not come. */
const LINGER_MS = 2000;

let directory;
beforeAll(() => {
  directory = mkdtempSync('/dev/shm/holdfast-possible-');
});
afterAll(() => rmSync(directory, { recursive: true }));

/** Starts a program with `locks`, which prints each warning as a line of JSON. */
function start(manager, body) {
  const program = `
    const lib = require(${JSON.stringify(LIBRARY)});
    const locks = ${manager};
    const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
    process.on('warning', ({ message }) => console.log(JSON.stringify(message)));
    setInterval(() => {}, ${HOW_LONG_MS});
    ${body}`;
  return spawn(process.execPath, ['-e', program], {
    env: { ...process.env, HOLDFAST_DIR: directory },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
}

/**
 * @param {string} manager
 * @param {string[]} bodies  of programs that run side by side
 * @param {number | Promise<unknown>} [end]  or: some time after so many warnings
 * @returns {Promise<string[]>} what all of them were warned of
 */
async function warningsOf(manager, bodies, end = 1) {
  const children = bodies.map((body) => start(manager, body));
  const messages = [];
  const areWarned = new Promise((resolve) => {
    for (const { stdout } of children) {
      createInterface({ input: stdout }).on('line', (line) => {
        if (messages.push(JSON.parse(line)) === end) resolve();
      });
    }
  });
  await (typeof end === 'number' ? areWarned.then(() => pause(LINGER_MS)) : end);
  for (const child of children) child.kill('SIGKILL');
  return messages;
}

const MANAGERS = [
  ['local', 'lib.createLocalLockManager()'],
  ['shared memory', 'lib.locks'],
];

test.concurrent.each(MANAGERS)(
  'a thread that waits for its own handle (%s)',
  async (_, manager) => {
    const messages = await warningsOf(manager, [
      `locks.acquire('own', { label: 'first' }).then((handle) => {
        globalThis.handle = handle;
        locks.acquire('own', { label: 'second' });
      });`,
    ]);
    expect(messages).toHaveLength(1);
    expect(messages[0]).toMatch(/^Possible deadlock: .*'own' \(label 'second', .*process \d+/);
  },
);

test.concurrent.each(MANAGERS)(
  'it is told when nothing of it has changed for five seconds (%s)',
  async (_, manager) => {
    const messages = await warningsOf(
      manager,
      [
        `let since;
        process.on('warning', () => console.log(performance.now() - since >= 5000));
        Promise.all([locks.acquire('stays'), locks.acquire('changes')]).then((handles) => {
          globalThis.handles = handles;
          locks.acquire('changes', { signal: AbortSignal.timeout(1000) }).catch(() => {
            since = performance.now();
          });
          locks.acquire('stays');
        });`,
      ],
      2,
    );
    expect(messages).toEqual([expect.stringMatching(/^Possible deadlock: .*'stays'/), true]);
  },
);

test.concurrent('two processes that take two names in opposite order, after an await', async () => {
  const take = (first, second) => `
    locks.request('${first}', async () => {
      while ((await locks.query()).held.filter(({ name }) => /^opposite/.test(name)).length < 2);
      await locks.request('${second}', () => {});
    });`;
  const messages = await warningsOf('lib.locks', [
    take('opposite 1', 'opposite 2'),
    take('opposite 2', 'opposite 1'),
  ]);
  expect(messages).toHaveLength(1);
  expect(messages[0]).toMatch(/eadlock: /);
  for (const name of ["'opposite 1'", "'opposite 2'"]) expect(messages[0]).toContain(name);
});

test.concurrent.each(MANAGERS)(
  'a callback that asks again and used to end then, and waits this time (%s)',
  async (_, manager) => {
    const messages = await warningsOf(manager, [
      `let waits = false;
      const callback = () => callback.act();
      const askAgain = () => {
        callback.act = () => {};
        const inner = locks.request('habit', callback);
        return waits ? inner : undefined;
      };
      const start = () => {
        callback.act = askAgain;
        return locks.request('habit', callback);
      };
      start().then(start).then(() => {
        waits = true;
        start();
      });`,
    ]);
    expect(messages).toHaveLength(1);
    expect(messages[0]).toMatch(/^Possible deadlock: .*'habit'/);
  },
);

test.concurrent.each(MANAGERS)(
  'a reentrant request under a lock that was taken without it (%s)',
  async (_, manager) => {
    // From Node 24 on the chain is followed, and the request granted.
    const end = contextsAreCheap ? pause(HOW_LONG_MS) : undefined;
    const messages = await warningsOf(
      manager,
      [
        `locks.request('mine', async () => {
          await sleep(1);
          await locks.request('mine', { reentrant: true }, () => console.error('granted'));
        });`,
      ],
      end,
    );
    expect(messages).toHaveLength(contextsAreCheap ? 0 : 1);
  },
);

test.concurrent.each(MANAGERS)('but not who waits for a leader (%s)', async (_, manager) => {
  const lead = (name) => `locks.request('${name}', () => new Promise(() => {}));`;
  // A handle that nobody keeps is collected, and warned of.
  const acquire = `locks.acquire('leader').then((handle) => (globalThis.leader = handle));`;
  const programs = [lead('leader'), acquire, lead('leader') + lead('other')];
  const all = manager === 'lib.locks' ? programs : [programs.join('')];
  // Each of them is also in a deadlock that is one, begun later: until that is told.
  const told = await warningsOf(manager, all.map(withControl), all.length);
  expect(told.map((message) => /'([^']*)'/.exec(message)[1]).sort()).toEqual(
    all.map((_program, index) => `control ${index}`),
  );
});

/** @param {string} program @param {number} index */
const withControl = (program, index) => `${program}
  locks.acquire('control ${index}').then((handle) => {
    globalThis.handle = handle;
    locks.acquire('control ${index}');
  });`;
