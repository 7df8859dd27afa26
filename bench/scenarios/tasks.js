'use strict';

const path = require('node:path');
const { pathToFileURL } = require('node:url');
const { nsPerOperation } = require('../harness/in-process.js');
const { quantile } = require('../harness/statistics.js');

const TASKS = 20_000;
const REPEATS = 10;
const BACKGROUND_TASKS = 10_000;
const BACKGROUND_TASK_US = 20;
const PENDING = 100_000;

/**
 * @typedef {object} Tasks a way to run tasks
 * @property {(task: () => unknown, priority?: string) => Promise<unknown>} post
 * @property {() => Promise<unknown>} give gives the event loop back
 */

/** @type {Record<string, () => Promise<Tasks>>} */
const WAYS = {
  async holdfast() {
    const { scheduler } = require('../../lib/index.js');
    return {
      post: (task, priority) => scheduler.postTask(task, { priority }),
      give: () => scheduler.yield(),
    };
  },
  async 'setImmediate in a promise'() {
    return {
      post: (task) =>
        new Promise((resolve, reject) => {
          setImmediate(() => {
            try {
              resolve(task());
            } catch (error) {
              reject(error);
            }
          });
        }),
      give: () => new Promise((resolve) => setImmediate(resolve)),
    };
  },
  /** Loads the polyfill, which needs the global `self` of a browser. */
  async 'scheduler-polyfill'() {
    globalThis.self = globalThis;
    const main = path.dirname(require.resolve('scheduler-polyfill'));
    await import(pathToFileURL(path.join(main, 'scheduler-polyfill.js')).href);
    const { scheduler } = globalThis;
    return {
      post: (task, priority) => scheduler.postTask(task, { priority }),
      give: () => scheduler.yield(),
    };
  },
};

/**
 * @param {Tasks} tasks
 * @param {string} [priority]
 */
async function nsPerTask({ post }, priority) {
  const times = [];
  for (let i = 0; i < REPEATS; i += 1) {
    const start = process.hrtime.bigint();
    const posted = Array.from({ length: TASKS }, () => post(() => {}, priority));
    await Promise.all(posted);
    times.push(Number(process.hrtime.bigint() - start) / TASKS);
  }
  return quantile(times, 0.5);
}

function spin(us) {
  for (const end = process.hrtime.bigint() + BigInt(us * 1e3); process.hrtime.bigint() < end;);
}

/**
 * A user-blocking task is posted while background tasks run, and so is a timer.
 * @param {Tasks} tasks
 */
async function behindBackground({ post }) {
  let ran = 0;
  let urgent;
  let timer;
  const background = Array.from({ length: BACKGROUND_TASKS }, (_, i) =>
    post(() => {
      spin(BACKGROUND_TASK_US);
      ran += 1;
      if (i !== BACKGROUND_TASKS / 10) return;
      const ranBefore = ran;
      const start = performance.now();
      const since = () => performance.now() - start;
      urgent = post(() => ({ tasks: ran - ranBefore, ms: since() }), 'user-blocking');
      timer = new Promise((resolve) => setTimeout(() => resolve(since() - 1), 1));
    }, 'background'),
  );
  await Promise.all(background);
  const { tasks, ms } = await urgent;
  return {
    'background tasks before a user-blocking one': tasks,
    'user-blocking task late ms': ms,
    'timer of 1 ms late ms': Math.max(0, await timer),
  };
}

/** @param {Tasks} tasks */
async function bytesPerTask({ post }) {
  const posted = new Array(PENDING).fill(undefined);
  const task = () => {};
  globalThis.gc();
  const before = process.memoryUsage().heapUsed;
  for (let i = 0; i < PENDING; i += 1) posted[i] = post(task);
  globalThis.gc();
  const bytes = (process.memoryUsage().heapUsed - before) / PENDING;
  await Promise.all(posted);
  return bytes;
}

/**
 * @param {string} way
 * @param {'22' | '24' | '26'} [node]
 * @returns {import('../harness/scenarios.js').Contender}
 */
const contender = (way, node) => ({
  node,
  flags: ['--expose-gc'],
  async measure() {
    const tasks = await WAYS[way]();
    return {
      'ns per task': await nsPerTask(tasks),
      'ns per user-blocking task': await nsPerTask(tasks, 'user-blocking'),
      'ns per background task': await nsPerTask(tasks, 'background'),
      'ns per yield': await nsPerOperation(() => tasks.give()),
      'ns per await afterwards': await nsPerOperation(async () => {}),
      ...(await behindBackground(tasks)),
      'heap bytes per task': await bytesPerTask(tasks),
    };
  },
});

const [IMMEDIATE, POLYFILL] = ['setImmediate in a promise', 'scheduler-polyfill'];
const NODES = /** @type {const} */ (['22', '24', '26']);
const TASK_FIGURES = ['ns per task', 'ns per user-blocking task', 'ns per background task'];

/** @param {string} way */
const onOtherNodes = (way) => NODES.map((node) => [`${way}, Node ${node}`, contender(way, node)]);

/** The figures of tasks, each beside the two other ways. */
const goalsOf = (node, perImmediate, perPolyfill) =>
  [...TASK_FIGURES, 'ns per yield'].flatMap((figure) => [
    { of: `holdfast${node}`, per: `${IMMEDIATE}${node}`, figure, atMost: perImmediate },
    { of: `holdfast${node}`, per: `${POLYFILL}${node}`, figure, atMost: perPolyfill },
  ]);

/** @type {import('../harness/scenarios.js').Scenario} */
module.exports = {
  goal: 13,
  title: 'Tasks of the scheduler',
  note: 'bench/scheduler-starvation.js shows timers and sockets beside 100,000 tasks.',
  rounds: 3,
  contenders: Object.fromEntries(
    Object.keys(WAYS).flatMap((way) => [[way, contender(way)], ...onOtherNodes(way)]),
  ),
  goals: [
    ...goalsOf('', 1 / 2, 1 / 4),
    ...NODES.flatMap((node) => goalsOf(`, Node ${node}`, 1, 0.35)),
    ...['', ', Node 22'].map((node) => ({
      of: `holdfast${node}`,
      per: `${IMMEDIATE}${node}`,
      figure: 'ns per await afterwards',
      atMost: 1.5,
    })),
    { of: 'holdfast', figure: 'heap bytes per task', atMost: 350 },
    { of: 'holdfast', figure: 'background tasks before a user-blocking one', atMost: 1 },
    { of: 'holdfast', figure: 'timer of 1 ms late ms', atMost: 1 },
  ],
  chart: { figure: 'ns per task', title: 'A task, ns' },
};
