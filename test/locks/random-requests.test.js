'use strict';

const { getEventListeners } = require('node:events');
const { mkdtempSync, rmSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { isDeepStrictEqual } = require('node:util');
const { createTrackedTimers } = require('../support/tracked-timers.js');

const tracked = createTrackedTimers();
jest.doMock('../../lib/time.js', () => ({
  ...jest.requireActual('../../lib/time.js'),
  ...tracked.timers,
}));

const { LocalBackend } = require('../../lib/backends/local/backend.js');
const { LocalLockTable } = require('../../lib/backends/local/lock-table.js');
const {
  DeadlockError,
  LockLostError,
  TaskController,
  openLockManager,
} = require('../../lib/index.js');
const { TASK_PRIORITIES } = require('../../lib/task-priority.js');
const { IN_PROCESS_BACKENDS } = require('../support/combinations.js');
const { randomFrom } = require('../support/process-random.js');

// Requests with all options at random, several hundred at a time. HOLDFAST_SEED=<seed> repeats the
// choices of a run, not its timing.
const SEED = Number(process.env.HOLDFAST_SEED ?? Math.floor(Math.random() * 2 ** 31));
const CHAINS = 150;
const REQUESTS = 12;
const NAMES = ['a', 'b', 'c'];

const nextTurn = () => new Promise((resolve) => setImmediate(resolve));
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const LONG_TIMEOUT_MS = 10_000;
/** Timers of requests that would not be over by now. */
const countTimers = () =>
  [...tracked.live].filter((timer) => timer._idleTimeout === LONG_TIMEOUT_MS).length;

const OPENERS = {
  local() {
    const table = new LocalLockTable();
    return () => openLockManager({ backend: new LocalBackend(table) });
  },
  'shared-memory': (directory) => () => openLockManager({ directory }),
};

/** Choices that follow from the seed. */
function createRandom(seed) {
  const next = randomFrom(seed);
  return {
    pick: (choices) => choices[next(choices.length)],
    chance: (probability) => next(1_000) < probability * 1_000,
  };
}

/** Whether a request that asked for `options` may end like this. */
function isExpectedEnd(reason, options) {
  if (reason === 'failure of the callback') return true;
  if (reason === 'aborted') return options.signal !== undefined;
  if (reason?.reason === 'MAX_PENDING') return options.maxPending !== undefined;
  if (reason instanceof LockLostError) {
    return reason.reason === 'stolen' || (reason.reason === 'expired' && options.holdLimit > 0);
  }
  return reason?.name === 'TimeoutError' && options.timeout !== undefined;
}

/** Chains of requests on lock managers that share a bucket. */
class Chains {
  tokens = [];
  unexpected = [];
  /** @type {Map<AbortSignal, TaskController>} */
  controllers = new Map();
  #random;
  #managers;

  constructor(random, managers) {
    this.#random = random;
    this.#managers = managers;
  }

  async run() {
    for (let count = 0; count < REQUESTS; count += 1) await this.#request();
  }

  async #request() {
    const { pick, chance } = this.#random;
    const locks = pick(this.#managers);
    if (chance(0.1)) return this.#block(locks);
    const options = this.#options();
    if (options.signal !== undefined && chance(0.5)) this.#abortLater(options.signal);
    if (options.signal !== undefined && chance(0.5)) this.#changeLater(options.signal);
    try {
      await pick([
        () => locks.request(pick(NAMES), options, (lock) => this.#hold(lock)),
        () => this.#requestAll(locks, options),
        async () => {
          const handle = await locks.acquire(pick(NAMES), options);
          await this.#hold(handle).finally(() => handle?.release());
        },
      ])();
    } catch (reason) {
      if (!isExpectedEnd(reason, options)) this.unexpected.push([reason, options]);
    }
  }

  /** Without a hold limit, which requestAll() refuses. */
  #requestAll(locks, options) {
    const { pick } = this.#random;
    const names = [pick(NAMES), pick(NAMES)];
    const unlimited = { ...options, holdLimit: undefined };
    return locks.requestAll(names, unlimited, (all) => this.#hold(all?.[0]));
  }

  /** Waits in vain for a lock that another manager of this thread holds. */
  #block(locks) {
    const { chance, pick } = this.#random;
    const options = { mode: pick(['exclusive', 'shared']), timeout: pick([0, 1]) };
    if (chance(0.3)) options.priority = pick(TASK_PRIORITIES);
    if (chance(0.2)) options.maxPending = pick([0, 1]);
    try {
      locks.requestSync(pick(NAMES), options, ({ token }) => void this.tokens.push(token));
    } catch (reason) {
      if (reason instanceof DeadlockError || isExpectedEnd(reason, options)) return;
      this.unexpected.push([reason, options]);
    }
  }

  #options() {
    const { pick, chance } = this.#random;
    if (chance(0.05)) return { steal: true, ...this.#holdLimit() };
    const mode = pick(['exclusive', 'shared']);
    const options = { mode, label: pick([undefined, 'label']), ...this.#holdLimit() };
    if (chance(0.3)) options.priority = pick(TASK_PRIORITIES);
    if (mode === 'shared') options.limit = pick([undefined, 1, 2, 5]);
    if (chance(0.2)) return { ...options, ifAvailable: true };
    if (chance(0.2)) options.maxPending = pick([0, 1, 20, 100]);
    if (chance(0.3)) options.timeout = pick([0, 1, 3, LONG_TIMEOUT_MS]);
    if (chance(0.3)) {
      const controller = new TaskController({ priority: pick(TASK_PRIORITIES) });
      this.controllers.set(controller.signal, controller);
      options.signal = controller.signal;
    }
    return options;
  }

  #holdLimit() {
    const { pick, chance } = this.#random;
    return chance(0.2) ? { holdLimit: pick([0.5, 2, 10_000]) } : {};
  }

  #abortLater(signal) {
    const delay = this.#random.pick([0, 1, 2]);
    const abort = () => this.controllers.get(signal).abort('aborted');
    if (delay === 0) queueMicrotask(abort);
    else sleep(delay).then(abort);
  }

  /** Only a request without the option follows it. */
  #changeLater(signal) {
    const priority = this.#random.pick(TASK_PRIORITIES);
    const change = () => this.controllers.get(signal).setPriority(priority);
    if (this.#random.chance(0.5)) queueMicrotask(change);
    else sleep(1).then(change);
  }

  async #hold(lock) {
    const { pick, chance } = this.#random;
    if (lock) this.tokens.push(lock.token);
    const wait = pick([async () => {}, nextTurn, nextTurn, () => sleep(1)]);
    await wait();
    if (chance(0.1)) throw 'failure of the callback';
  }
}

let directory;
beforeAll(() => {
  console.info(`HOLDFAST_SEED=${SEED}`);
  directory = mkdtempSync(join(tmpdir(), 'holdfast-'));
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

test.each(IN_PROCESS_BACKENDS)(
  'whatever is asked for ends in the way that was asked for, and leaves nothing behind [%s]',
  async (backend) => {
    const open = OPENERS[backend](directory);
    const managers = [open(), open(), open()];
    await Promise.all(managers.map((locks) => locks.query()));
    const chains = new Chains(createRandom(SEED), managers);
    await Promise.all(Array.from({ length: CHAINS }, () => chains.run()));

    expect(chains.unexpected).toEqual([]);
    expect(new Set(chains.tokens).size).toBe(chains.tokens.length);
    expect(chains.tokens.length).toBeGreaterThan(CHAINS);
    // After a loss the callback of requestAll() continues, and holds what is left.
    for (const locks of managers) {
      while (!isDeepStrictEqual(await locks.query(), { held: [], pending: [] })) await nextTurn();
    }
    const listeners = [...chains.controllers.keys()].map(
      (signal) => getEventListeners(signal, 'abort').length,
    );
    expect(Math.max(...listeners)).toBe(0);
    expect(countTimers()).toBe(0);
    for (const locks of managers) locks.close();
  },
);
