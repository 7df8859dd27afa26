'use strict';

// A process of a stress test: takes locks until a message stops it, and does under each what a
// fenced resource accepts or refuses. Then it sends the status of its session, and rests until a
// message closes it.

const { once } = require('node:events');
const { setTimeout: sleep } = require('node:timers/promises');
const { TaskController, openLockManager } = require('../../lib/index.js');
const { openEtcdBackend } = require('../../lib/etcd.js');
const { openPostgresBackend } = require('../../lib/postgres.js');
const { PRIORITY_RANK, TASK_PRIORITIES } = require('../../lib/task-priority.js');
const { ResourceClient } = require('./fenced-resource.js');

const { url, options, refusals, socket, seed, isWatching, hasPriorities } = JSON.parse(
  process.argv[2],
);
const NAMES = 3;
/** The first name has no priorities: its queue is strictly by age. */
const NAMES_WITHOUT_PRIORITIES = hasPriorities ? 1 : NAMES;
const LOOPS = 4;
const openBackend = url.startsWith('etcd') ? openEtcdBackend : openPostgresBackend;
const backend = openBackend(url, options);
const locks = openLockManager({ backend });
const resource = new ResourceClient(socket);
let state = Number(seed);
let isStopping = false;
let requests = 0;

/** A small generator of numbers, from the seed. */
function random(below) {
  state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff;
  return (state >>> 8) % below;
}

/**
 * @param {{ order?: number, rank: number }} made  the how manieth request of this process, unless
 *   its priority changes, and the rank of its priority
 */
async function hold(lock, made, seen) {
  const { name, mode, token } = lock;
  seen.id = `${process.pid}:${token}`;
  const call = { name, mode, id: seen.id, token: String(token), ...made, wallClock: Date.now() };
  lock.signal.addEventListener('abort', () => resource.report('notified', call));
  if (!(await resource.submit('enter', call))) return;
  await sleep(random(4));
  if (!lock.signal.aborted) await resource.submit('leave', call);
}

/** A signal with this priority, which changes after a few milliseconds. */
function changingSignal(priority) {
  const controller = new TaskController({ priority });
  const next = TASK_PRIORITIES[random(3)];
  sleep(random(20)).then(() => controller.setPriority(next));
  return controller.signal;
}

async function takeOne(how) {
  const seen = { id: undefined };
  let isWell = true;
  requests += 1;
  const at = random(NAMES);
  const made = { order: requests, rank: PRIORITY_RANK['user-visible'] };
  if (at >= NAMES_WITHOUT_PRIORITIES) {
    how.priority = TASK_PRIORITIES[random(3)];
    made.rank = PRIORITY_RANK[how.priority];
    if (random(4) === 0) {
      how.signal = changingSignal(how.priority);
      delete how.priority;
      delete made.order;
    }
  }
  try {
    await locks.request(`name-${at}`, how, (lock) => hold(lock, made, seen));
  } catch (error) {
    isWell = false;
    if (refusals.includes(error.name)) await sleep(10);
    else if (error.name !== 'TimeoutError' && error.reason === undefined) throw error;
  }
  if (seen.id !== undefined) resource.report('end', { id: seen.id, isWell });
}

async function work() {
  while (!isStopping) {
    const mode = random(3) === 0 ? 'shared' : 'exclusive';
    await takeOne(random(5) === 0 ? { mode, timeout: 50 } : { mode });
  }
}

/** Reads all events; what the watch misses it says. */
async function watch(signal) {
  const seen = { events: 0, lost: 0 };
  for await (const event of locks.watch(undefined, { signal })) {
    seen.events += 1;
    seen.lost += event.lost;
  }
  return seen;
}

async function main() {
  const ending = new AbortController();
  const watched = isWatching ? watch(ending.signal).catch(() => undefined) : undefined;
  await Promise.all(Array.from({ length: LOOPS }, work));
  const status = await backend.status();
  const closing = once(process, 'message');
  process.send({ status });
  await closing;
  ending.abort();
  await watched;
  locks.close();
  resource.close();
  process.disconnect();
}

process.once('message', () => {
  isStopping = true;
});
main();
