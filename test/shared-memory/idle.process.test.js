'use strict';

// The cost of a process while nothing happens, also of a watching process; and that it sleeps
// through nothing.

const { spawn } = require('node:child_process');
const { mkdtempSync, readFileSync, readdirSync, rmSync } = require('node:fs');
const { join } = require('node:path');
const readline = require('node:readline');
const { openLockManager } = require('../../lib/index.js');
const { SharedMemoryBackend } = require('../../lib/backends/shared-memory/backend.js');

const LIBRARY = join(__dirname, '../../lib/index.js');
const IDLE_MS = 2000;
/** By polling it would be fifty a second. */
const MAX_WAKE_UPS = 20;

let directory;
beforeEach(() => {
  directory = mkdtempSync('/dev/shm/holdfast-idle-');
});
afterEach(() => rmSync(directory, { recursive: true }));

function wakeUpsOf(pid) {
  let sum = 0;
  for (const task of readdirSync(`/proc/${pid}/task`)) {
    const status = readFileSync(`/proc/${pid}/task/${task}/status`, 'utf8');
    sum += Number(/^voluntary_ctxt_switches:\s+(\d+)/m.exec(status)[1]);
  }
  return sum;
}

test('a process that has waited for locks, and has none, does not wake at all', async () => {
  const program = `
    const { openLockManager } = require(${JSON.stringify(LIBRARY)});
    const [first, second] = [openLockManager(), openLockManager()];
    (async () => {
      const held = await first.acquire('n');
      const waiting = second.request('n', () => {});
      await new Promise((resolve) => setTimeout(resolve, 100));
      held.release();
      await waiting;
      console.log('ready');
      process.stdin.resume();
    })();`;
  const child = spawn(process.execPath, ['-e', program], {
    env: { ...process.env, HOLDFAST_DIR: directory, HOLDFAST_URL: '' },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const lines = readline.createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  expect((await lines.next()).value).toBe('ready');
  // A sweep would come once a second. Node's own work is over some time.
  for (let wakeUps = 1; wakeUps > 0;) {
    const before = wakeUpsOf(child.pid);
    await new Promise((resolve) => setTimeout(resolve, IDLE_MS));
    wakeUps = wakeUpsOf(child.pid) - before;
  }
  child.kill();
});

test('a watcher hardly wakes while nothing happens, and receives what comes then', async () => {
  const program = `
    const { locks } = require(${JSON.stringify(LIBRARY)});
    (async () => {
      for await (const { type } of locks.watch('n')) console.log(type);
    })();
    console.log('ready');`;
  const child = spawn(process.execPath, ['-e', program], {
    env: { ...process.env, HOLDFAST_DIR: directory, HOLDFAST_URL: '' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const lines = readline.createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  expect((await lines.next()).value).toBe('ready');
  const locks = openLockManager({ directory });
  await locks.request('n', () => {});
  expect([(await lines.next()).value, (await lines.next()).value]).toEqual(['granted', 'released']);
  let wakeUps = Infinity; // the first counts may include its earlier work
  while (wakeUps >= MAX_WAKE_UPS) {
    const before = wakeUpsOf(child.pid);
    await new Promise((resolve) => setTimeout(resolve, IDLE_MS));
    wakeUps = wakeUpsOf(child.pid) - before;
  }
  await locks.request('n', () => {});
  expect([(await lines.next()).value, (await lines.next()).value]).toEqual(['granted', 'released']);
  child.kill();
  locks.close();
});

test('a watcher without the sweep receives each of many events that come one by one', async () => {
  const backend = new SharedMemoryBackend({ directory, sweeps: false });
  const locks = openLockManager({ backend });
  const other = openLockManager({ directory });
  const watch = locks.watch('n');
  for (let i = 0; i < 200; i += 1) {
    await other.request('n', () => {});
    expect((await watch.next()).value.type).toBe('granted');
    expect((await watch.next()).value.type).toBe('released');
    // Now and then it has gone to sleep before the next one comes.
    if (i % 20 === 0) await new Promise((resolve) => setTimeout(resolve, 30));
  }
  await watch.return();
  locks.close();
  other.close();
});
