'use strict';

// Run by a Node for another processor than this machine's, under an emulator: a lock that threads
// and processes exclude each other by, and that outlives its holder. HOLDFAST_TEST_NODE is the
// command that starts this Node. Prints what ran, as JSON.

const { spawn } = require('node:child_process');
const { once } = require('node:events');
const { readFileSync } = require('node:fs');
const { Worker, isMainThread, parentPort } = require('node:worker_threads');
const { createInterface } = require('node:readline');
const { locks } = require('holdfast');

/** @param {boolean} isTrue @param {string} claim */
function mustBeTrue(isTrue, claim) {
  if (!isTrue) throw new Error(`it is not true that ${claim}`);
}

/** In another thread or process: what main() waits for. @param {(message: any) => void} send */
async function contend(send) {
  send(await locks.request('shared', { ifAvailable: true }, (lock) => lock === null));
  send(await locks.request('shared', (lock) => String(lock.token)));
}

/** @param {(message: any) => void} send */
const holdForEver = (send) =>
  locks.request('left', (lock) => {
    send(String(lock.token));
    setInterval(() => {}, 1000); // a lock that is held keeps no process alive
    return new Promise(() => {});
  });

/** @param {string} role */
function startProcess(role) {
  const [program, ...args] = JSON.parse(/** @type {string} */ (process.env.HOLDFAST_TEST_NODE));
  const child = spawn(program, [...args, __filename, role], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return { child, next: async () => JSON.parse((await lines.next()).value) };
}

function startThread() {
  const worker = new Worker(__filename);
  return { next: async () => (await once(worker, 'message'))[0] };
}

/** @param {() => Promise<any>} next  message of the other one @param {string} who */
async function checkExclusion(next, who) {
  const { token, granted } = await locks.request('shared', async (lock) => {
    mustBeTrue(await next(), `${who} is refused the lock`);
    return { token: lock.token, granted: next() };
  });
  mustBeTrue(BigInt(await granted) > token, `${who} is given the lock later`);
}

async function checkKilledHolder() {
  const { child, next } = startProcess('hold');
  const token = BigInt(await next());
  const waiting = locks.request('left', (lock) => lock.token);
  const { pending } = await locks.query();
  mustBeTrue(pending.length === 1, 'a request waits for the other process');
  child.kill('SIGKILL');
  mustBeTrue((await waiting) > token, 'the lock of a killed process is given on');
}

const addonFile = () =>
  /(\/.*\/holdfast\.node)$/m.exec(readFileSync('/proc/self/maps', 'utf8'))?.[1];

async function main() {
  await checkExclusion(startThread().next, 'a thread');
  await checkExclusion(startProcess('contend').next, 'a process');
  await checkKilledHolder();
  const { arch, version } = process;
  console.log(JSON.stringify({ arch, version, addon: addonFile() }));
}

/** @param {any} message */
const print = (message) => console.log(JSON.stringify(message));

const ROLES = { contend: () => contend(print), hold: () => holdForEver(print), main };
const role = /** @type {keyof typeof ROLES} */ (process.argv[2] ?? 'main');
const start = isMainThread
  ? ROLES[role]
  : () => contend((message) => parentPort?.postMessage(message));
start().catch((error) => {
  console.error(error);
  process.exit(1);
});
