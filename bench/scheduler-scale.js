'use strict';

// node --expose-gc bench/scheduler-scale.js: what waiting tasks cost, by their number. Memory per
// waiting task; the change of the priority of all, which is one step however many they are; their
// abort, which is linear, as are idle callbacks.

const { requestIdleCallback, scheduler, TaskController } = require('../lib/index.js');

const COUNTS = [1_000, 10_000, 100_000];

const ms = (start) => Number(process.hrtime.bigint() - start) / 1e6;

function post(count, signal) {
  const tasks = [];
  for (let i = 0; i < count; i += 1) tasks.push(scheduler.postTask(() => {}, { signal }));
  return tasks;
}

async function measure(count) {
  const controller = new TaskController();
  globalThis.gc();
  const before = process.memoryUsage().heapUsed;
  const tasks = post(count, controller.signal);
  globalThis.gc();
  const bytes = (process.memoryUsage().heapUsed - before) / count;

  const rounds = 1_000;
  let start = process.hrtime.bigint();
  for (let i = 0; i < rounds; i += 1) {
    controller.setPriority(i % 2 === 0 ? 'background' : 'user-blocking');
  }
  const changeUs = (ms(start) / rounds) * 1e3;

  start = process.hrtime.bigint();
  controller.abort('aborted');
  const abortMs = ms(start);
  await Promise.allSettled(tasks);

  const { user } = process.cpuUsage();
  for (let i = 1; i < count; i += 1) requestIdleCallback(() => {});
  await new Promise((resolve) => requestIdleCallback(resolve));
  const idleUs = process.cpuUsage().user - user;
  return {
    tasks: count,
    'bytes per task': Math.round(bytes),
    'priority change, µs': Number(changeUs.toFixed(2)),
    'abort of all, ms': Number(abortMs.toFixed(2)),
    'abort, ns per task': Math.round((abortMs * 1e6) / count),
    'idle callback, ns of a processor': Math.round((idleUs * 1e3) / count),
  };
}

async function main() {
  if (globalThis.gc === undefined) throw new Error('to be run with --expose-gc');
  for (const count of COUNTS) await measure(count); // to be compiled
  const rows = [];
  for (const count of COUNTS) rows.push(await measure(count));
  console.log(`Node ${process.version}`);
  console.table(rows);
}

main();
