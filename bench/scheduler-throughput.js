'use strict';

// node bench/scheduler-throughput.js [tasks]: what a task costs, against the other ways of Node to
// run a callback in a task of its own. `queued`: all are posted at once. `chained`: each is posted
// by the one before, the way of loops that give the event loop back. Ratios are of one run.

const { spawnSync } = require('node:child_process');
const { mkdirSync } = require('node:fs');
const path = require('node:path');
const { pathToFileURL } = require('node:url');
const { MessageChannel } = require('node:worker_threads');
const { scheduler } = require('../lib/index.js');

const COUNT = Number(process.argv[2] ?? 100_000);
const ROUNDS = 5;
const POLYFILL = 'scheduler-polyfill@1.3.0';

/** Undefined where it cannot be loaded. It looks for the global `self` of a browser. */
async function loadPolyfill() {
  const prefix = path.join(__dirname, '..', 'build', 'bench');
  mkdirSync(prefix, { recursive: true });
  const options = ['--no-save', '--no-package-lock', '--no-audit', '--no-fund', '--silent'];
  spawnSync('npm', ['install', ...options, '--prefix', prefix, POLYFILL], { stdio: 'ignore' });
  const file = path.join(prefix, 'node_modules/scheduler-polyfill/dist/scheduler-polyfill.js');
  globalThis.self = globalThis;
  try {
    await import(pathToFileURL(file).href);
    return globalThis.scheduler;
  } catch {
    return undefined;
  }
}

function messagePoster() {
  const { port1, port2 } = new MessageChannel();
  let callbacks = [];
  let next = 0;
  port1.on('message', () => {
    const callback = callbacks[next++];
    if (next === callbacks.length) [callbacks, next] = [[], 0];
    callback();
  });
  return (callback) => {
    callbacks.push(callback);
    port2.postMessage(undefined);
  };
}

const queued = (post) =>
  new Promise((resolve) => {
    let left = COUNT;
    const task = () => {
      left -= 1;
      if (left === 0) resolve();
    };
    for (let i = 0; i < COUNT; i += 1) post(task);
  });

const chained = (post) =>
  new Promise((resolve) => {
    let left = COUNT;
    const task = () => {
      left -= 1;
      if (left === 0) resolve();
      else post(task);
    };
    post(task);
  });

const yielding = async (give) => {
  for (let i = 0; i < COUNT; i += 1) await give();
};

/** The best of some rounds, in ns per task. */
async function measure(run) {
  let best = Infinity;
  for (let round = 0; round < ROUNDS; round += 1) {
    const start = process.hrtime.bigint();
    await run();
    best = Math.min(best, Number(process.hrtime.bigint() - start) / COUNT);
  }
  return best;
}

async function compare(title, runs) {
  const rows = {};
  for (const [name, run] of Object.entries(runs)) rows[name] = await measure(run);
  const own = Object.values(rows)[0];
  console.log(`\n${title}`);
  for (const [name, ns] of Object.entries(rows)) {
    const ratio = (ns / own).toFixed(2);
    console.log(`  ${name.padEnd(34)} ${ns.toFixed(0).padStart(8)} ns  ${ratio.padStart(6)} x`);
  }
}

async function main() {
  const polyfill = await loadPolyfill();
  const send = messagePoster();
  const own = (priority) => (task) => void scheduler.postTask(task, { priority });
  const others = (kind) => ({
    setImmediate: () => kind(setImmediate),
    MessageChannel: () => kind(send),
    ...(polyfill && { 'scheduler-polyfill': () => kind((task) => void polyfill.postTask(task)) }),
  });
  console.log(`Node ${process.version}, ${COUNT} tasks, best of ${ROUNDS}`);
  await compare('queued', {
    'postTask user-visible': () => queued(own('user-visible')),
    'postTask user-blocking': () => queued(own('user-blocking')),
    'postTask background': () => queued(own('background')),
    'setTimeout(0)': () => queued(setTimeout),
    ...others(queued),
  });
  await compare('chained', {
    'postTask user-visible': () => chained(own('user-visible')),
    'postTask background': () => chained(own('background')),
    ...others(chained),
  });
  await compare('await in a loop', {
    'scheduler.yield()': () => yielding(() => scheduler.yield()),
    'scheduler.yield() in a task': () =>
      scheduler.postTask(() => yielding(() => scheduler.yield())),
    setImmediate: () => yielding(() => new Promise(setImmediate)),
    ...(polyfill && { 'scheduler-polyfill yield()': () => yielding(() => polyfill.yield()) }),
  });
  if (polyfill === undefined) console.log('\nscheduler-polyfill cannot be loaded on this Node.');
  process.exit();
}

main();
