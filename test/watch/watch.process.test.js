'use strict';

const { spawnSync } = require('node:child_process');
const { closeSync, openSync, readSync } = require('node:fs');
const { join } = require('node:path');
const { ProcessBucket, untilEqual } = require('../support/process-bucket.js');

// Without the sweep: no death is noticed because of it.
let bucket;
beforeEach(() => {
  bucket = new ProcessBucket();
});
afterEach(() => bucket.close());

const whatOf = ({ type, name, clientId }) => ({ type, name, clientId });

/** The index, in the header, of the newest number of the watch ring. */
const LAST_ENTRY_AT = 192;

/** How many events have been written down, ever. */
function journalLength() {
  const file = openSync(join(bucket.directory, 'process', 'segment'), 'r');
  const word = Buffer.alloc(8);
  readSync(file, word, 0, word.length, LAST_ENTRY_AT);
  closeSync(file);
  return word.readBigUInt64LE();
}

async function lockAndUnlock() {
  await (
    await bucket.hold('unrelated')
  )();
}

async function isWritten() {
  const before = journalLength();
  await lockAndUnlock();
  return journalLength() !== before;
}

describe.each(['process', 'thread', 'thread of another process'])(
  'a holder in a %s',
  (hostKind) => {
    test('that dies while no request waits is seen to die', async () => {
      const actor = await bucket.open(hostKind);
      const clientId = await actor.clientId();
      const watch = bucket.locks.watch('a');
      const held = await actor.hold('a');
      const { token } = await held.granted;
      await actor.end();
      const events = [(await watch.next()).value, (await watch.next()).value];
      expect(events.map(whatOf)).toEqual([
        { type: 'granted', name: 'a', clientId },
        { type: 'died', name: 'a', clientId },
      ]);
      expect(events[1].token).toBe(token);
      expect(events[1].pid).toBe(events[0].pid);
      await watch.return();
    });

    test('that held its lock before the first watch is seen to die', async () => {
      const actor = await bucket.open(hostKind);
      await actor.hold('a');
      const watch = bucket.locks.watch('a');
      await actor.end();
      expect((await watch.next()).value).toMatchObject({ type: 'died', name: 'a' });
      await watch.return();
    });
  },
);

test('a holder who came under a watch of another name is seen to die by a later watch', async () => {
  const named = bucket.locks.watch('b');
  const actor = await bucket.open('process');
  await (
    await actor.hold('a')
  ).granted;
  const watch = bucket.locks.watch('a');
  await actor.end();
  expect((await watch.next()).value).toMatchObject({ type: 'died', name: 'a' });
  await watch.return();
  await named.return();
});

test('a waiter that dies is seen to die, and the next is granted', async () => {
  const [waiter, next] = [await bucket.open('process'), await bucket.open('process')];
  const release = await bucket.hold('a');
  const watch = bucket.locks.watch('a');
  await waiter.request('a', { mode: 'shared' });
  await next.request('a', { mode: 'shared' });
  await waiter.end();
  /** @type {any[]} */
  const events = [];
  const see = async (/** @type {number} */ count) => {
    for (let i = 0; i < count; i += 1) {
      const { value } = await watch.next();
      events.push([value.type, value.clientId, value.token !== null]);
    }
  };
  await see(3); // released before a clean-up, the lock would be granted to the dead
  await release();
  await see(2);
  await watch.return();
  const [one, two] = [await waiter.clientId(), await next.clientId()];
  expect(events).toEqual([
    ['queued', one, false],
    ['queued', two, false],
    ['died', one, false],
    ['released', expect.any(String), true],
    ['granted', two, true],
  ]);
});

test('unwatched events are not written down, also after the last watcher was killed', async () => {
  expect(await isWritten()).toBe(false);
  const [watcher, other] = [await bucket.open('process'), await bucket.open('process')];
  await watcher.watch('a');
  const otherWatch = await other.watch();
  expect(await isWritten()).toBe(true);
  await otherWatch.end();
  expect(await isWritten()).toBe(true);
  await watcher.end(); // SIGKILL
  // The newcomer cleans up: no process has waited for the dead one.
  await bucket.receiveNewcomer({ processes: 1 });
  await untilEqual(isWritten, false);
});

test('a watcher that is stopped delays no other, and learns what it has missed', async () => {
  const watcher = await bucket.open('process');
  const watch = await watcher.watch('a');
  await watcher.freeze();
  const count = 10_000;
  for (let i = 0; i < count; i += 1) await bucket.locks.request('a', () => {});
  watcher.thaw();
  const [first] = await watch.read(1);
  expect(first.lost).toBeGreaterThan(0);
  const rest = await watch.read(2 * count - first.lost - 1);
  expect(rest.at(-1).type).toBe('released');
  expect(rest.every(({ lost }) => lost === 0)).toBe(true);
});

test('a holder whose grant a stopped watcher has missed is seen to die', async () => {
  const watcher = await bucket.open('process');
  const watch = await watcher.watch('a');
  await watcher.freeze();
  const holder = await bucket.open('process');
  await (
    await holder.hold('a')
  ).granted;
  for (let i = 0; i < 10_000; i += 1) await bucket.locks.request('unrelated', () => {});
  watcher.thaw();
  await holder.end();
  const [event] = await watch.read(1);
  expect(event).toMatchObject({ type: 'died', name: 'a' });
  expect(event.lost).toBeGreaterThan(0);
});

/** Runs a program that may use `locks`; gives its output. */
function outputOf(program) {
  const source = `
    const { openLockManager } = require(${JSON.stringify(join(__dirname, '../..'))});
    const locks = openLockManager({ directory: ${JSON.stringify(bucket.directory)}, bucket: 'x' });
    (async () => { ${program} })();`;
  const { stdout, status } = spawnSync(process.execPath, ['-e', source], {
    encoding: 'utf8',
    timeout: 20_000,
  });
  expect(status).toBe(0);
  return stdout;
}

test('a watch keeps the event loop alive while an event is awaited', () => {
  const program = `
    const watch = locks.watch('a');
    const timer = setTimeout(() => locks.request('a', () => {}), 100).unref();
    for await (const { type } of watch) {
      console.log(type);
      if (type === 'released') break;
    }`;
  expect(outputOf(program)).toBe('granted\nreleased\n');
});

test('a watch that is not read does not', () => {
  expect(outputOf(`locks.watch('a'); console.log('end');`)).toBe('end\n');
});

test('an iterator that is unreachable stops watching', async () => {
  const program = `
    require('node:v8').setFlagsFromString('--expose-gc');
    const collect = require('node:vm').runInNewContext('gc');
    const { openSync, readSync } = require('node:fs');
    locks.watch('a');
    const file = openSync(${JSON.stringify(join(bucket.directory, 'x', 'segment'))}, 'r');
    const length = () => {
      const word = Buffer.alloc(8);
      readSync(file, word, 0, 8, ${LAST_ENTRY_AT});
      return word.readBigUInt64LE();
    };
    for (let before = -1n; before !== length(); ) {
      before = length();
      await new Promise(setImmediate);
      collect();
      await locks.request('a', () => {});
    }
    console.log('not written');`;
  expect(outputOf(program)).toBe('not written\n');
});
