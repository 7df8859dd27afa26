'use strict';

const { createHash, randomUUID } = require('node:crypto');
const { chmodSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } = require('node:fs');
const path = require('node:path');
const { clearTimeout, dateNow, setTimeout } = require('../time.js');
const {
  enumConverter,
  isObject,
  toAbortSignal,
  toCallback,
  toDictionarySource,
  toDOMString,
  toMember,
} = require('../webidl.js');
const { unwatchAbort, watchAbort } = require('../abort-listeners.js');
const { SHARED_FILE, isShared } = require('../backends/directory-access.js');
const { LockLostError } = require('../errors.js');
const { OF_RUN_EVERY, warnOfMisspeltOptions } = require('../option-names.js');
const { locks, toLockManager } = require('./lock-manager.js');
const { withJson } = require('./token.js');

/**
 * A signal that aborts when one of several does. Unlike `AbortSignal.any()` it works in every Node
 * 20, and `close()` removes its listeners from signals that live longer.
 */
class CombinedSignal {
  #controller = new AbortController();
  #sources;

  /** @param {AbortSignal[]} sources  the first aborted one provides the reason */
  constructor(sources) {
    this.#sources = sources;
    const first = sources.find(({ aborted }) => aborted);
    if (first !== undefined) this.abort(first.reason);
    else for (const source of sources) watchAbort(source, this);
  }

  /** @param {unknown} reason */
  abort(reason) {
    this.#controller.abort(reason);
  }

  get signal() {
    return this.#controller.signal;
  }

  close() {
    for (const source of this.#sources) unwatchAbort(source, this);
  }
}

/** The longest time until a change of the wall clock is noticed. */
const MAX_SLICE_MS = 30_000;

/**
 * Returns when the wall clock shows `time`, when `signal` aborts, or earlier: the caller
 * checks the time again. Keeps the event loop alive.
 * @param {number} time  in milliseconds since 1970
 * @param {AbortSignal} signal
 * @returns {Promise<void>}
 */
async function sleepTowards(time, signal) {
  const left = time - dateNow();
  if (left > 0 && !signal.aborted) await pause(Math.min(left, MAX_SLICE_MS), signal);
}

/**
 * @param {number} ms
 * @param {AbortSignal} signal
 * @returns {Promise<void>}
 */
const pause = (ms, signal) =>
  new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      unwatchAbort(signal, waiting);
      resolve();
    };
    const waiting = { abort: end };
    const timer = setTimeout(end, ms);
    watchAbort(signal, waiting);
  });

/** @typedef {import('../../types/run-every.d.ts').RunStore} RunStore */

const HASH_DIGITS = 32;

/** The last runs of jobs that use this thread's own locks, by table and name. */
/** @type {WeakMap<object, Map<string, number>>} */
const memories = new WeakMap();

/**
 * A file with one number. It is replaced by rename, so a process that dies leaves it intact.
 * @param {(name: string) => string} fileOf
 * @returns {RunStore}
 */
const fileStore = (fileOf) => ({
  read(name) {
    let text;
    try {
      text = readFileSync(fileOf(name), 'utf8');
    } catch (error) {
      if (/** @type {NodeJS.ErrnoException} */ (error).code === 'ENOENT') return undefined;
      throw error;
    }
    const run = Number.parseInt(text, 10);
    return Number.isSafeInteger(run) ? run : undefined;
  },
  write(name, run) {
    const file = fileOf(name);
    // A process that was stopped may write late, and one in another container may have its pid.
    const draft = `${file}.${randomUUID()}`;
    try {
      writeFileSync(draft, `${run}\n`, { mode: 0o600 });
      // The umask of this process may have removed the rights of the group.
      if (isShared(statSync(path.dirname(file)))) chmodSync(draft, SHARED_FILE);
      renameSync(draft, file);
    } catch (error) {
      rmSync(draft, { force: true });
      throw error;
    }
  },
});

/**
 * @param {object} table
 * @returns {RunStore}
 */
function memoryStore(table) {
  const runs = memories.get(table) ?? new Map();
  memories.set(table, runs);
  return {
    read: (name) => runs.get(name),
    write: (name, run) => void runs.set(name, run),
  };
}

/**
 * @param {unknown} value
 * @returns {RunStore}
 * @throws TypeError
 */
function toRunStore(value) {
  if (typeof value === 'string') {
    // A relative path would name another file for every working directory.
    if (path.isAbsolute(value)) return fileStore(() => value);
    throw new TypeError(`The member 'store' is not an absolute path: ${value}`);
  }
  const store = /** @type {any} */ (value);
  if (isObject(value) && typeof store.read === 'function' && typeof store.write === 'function') {
    return store;
  }
  throw new TypeError("The member 'store' is neither a path nor an object with read() and write()");
}

/**
 * The default store of the record of runs: beside the lock table.
 * @param {import('../../types/backend.d.ts').LockBackend} backend
 * @returns {RunStore}
 * @throws TypeError if the locks have no directory on this machine
 */
function defaultRunStore(backend) {
  const { folder } = backend;
  if (folder !== undefined) {
    const hash = (/** @type {string} */ name) => createHash('sha256').update(name, 'utf16le');
    const idOf = (/** @type {string} */ name) => hash(name).digest('hex').slice(0, HASH_DIGITS);
    return fileStore((name) => path.join(folder, `run.${idOf(name)}`));
  }
  const { LocalBackend } = require('../backends/local/backend.js');
  if (backend instanceof LocalBackend) return memoryStore(backend.table);
  throw new TypeError("These locks have no directory on this machine: 'store' has to be given");
}

/** @typedef {import('./lock.js').Lock} Lock */

/**
 * @typedef {object} Job
 * @property {string} name
 * @property {number} every  milliseconds
 * @property {number} offset  milliseconds
 * @property {boolean} isNotedFirst  at most once: the run is recorded before the callback
 * @property {RunStore | undefined} store
 * @property {import('./lock-manager.js').LockManager} manager
 * @property {AbortSignal | undefined} signal
 * @property {string | undefined} label
 * @property {((error: unknown) => unknown) | undefined} onError
 * @property {(run: { due: Date, signal: AbortSignal, token: bigint }) => unknown} callback
 */

const BACKEND = Symbol.for('holdfast.backend');

const toDelivery = enumConverter(
  'RunDelivery',
  /** @type {const} */ (['at-least-once', 'at-most-once']),
);

/** @param {unknown} value */
function toEvery(value) {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value > 0) return value;
  throw new TypeError("The member 'every' is not a positive whole number of milliseconds");
}

/** @param {unknown} value */
function toOffset(value) {
  if (typeof value === 'number' && Number.isSafeInteger(value)) return value;
  throw new TypeError("The member 'offset' is not a whole number of milliseconds");
}

/**
 * @param {unknown} name
 * @param {unknown} options
 * @param {unknown} callback
 * @returns {Job}
 */
function toJob(name, options, callback) {
  const source = toDictionarySource(options, 'RunEveryOptions') ?? {};
  warnOfMisspeltOptions(source, OF_RUN_EVERY);
  return {
    name: toDOMString(name),
    every: toEvery(source.every),
    offset: toMember(source.offset, toOffset, 0),
    isNotedFirst: toMember(source.delivery, toDelivery, 'at-least-once') === 'at-most-once',
    store: toMember(source.store, toRunStore, undefined),
    manager: toMember(source.manager, toLockManager, locks),
    signal: toMember(source.signal, toAbortSignal, undefined),
    label: toMember(source.label, toDOMString, undefined),
    onError: toMember(source.onError, toCallback, undefined),
    callback: toCallback(callback),
  };
}

/** A step back of the clock that is waited for: less than that repeats no run. */
const MAX_STEP_BACK_MS = 30_000;

/**
 * Whether only a clock that was set back explains that this run is noted or was made.
 * @param {Job} job
 * @param {number} run
 */
const isOfTheFuture = ({ every, offset }, run) =>
  run * every + offset - dateNow() > every + MAX_STEP_BACK_MS;

/** @param {Job} job */
const currentRun = ({ every, offset }) => Math.floor((dateNow() - offset) / every);

/**
 * Returns the last recorded run; without a record the current one, so that the first run is the
 * next one. A record from the future means that the clock was set back.
 * @param {Job} job
 * @param {RunStore} store
 */
async function lastRun(job, store) {
  const current = currentRun(job);
  const noted = await store.read(job.name);
  if (noted !== undefined && !isOfTheFuture(job, noted)) return noted;
  await store.write(job.name, current);
  return current;
}

/**
 * Calls the callback for one run and records it.
 * @param {Job} job
 * @param {RunStore} store
 * @param {number} run
 * @param {{ lock: Lock, signal: AbortSignal }} turn  signal: also of the job
 */
async function makeRun(job, store, run, { lock, signal }) {
  if (job.isNotedFirst) {
    await store.write(job.name, run);
    if (signal.aborted) return; // meanwhile: another process may make the next run
  }
  try {
    const due = new Date(run * job.every + job.offset);
    await job.callback(withJson({ due, signal, token: lock.token }));
  } catch (error) {
    if (signal.aborted) return; // stopped: the next process repeats this run
    if (!job.isNotedFirst) await store.write(job.name, run);
    if (job.onError === undefined) throw error;
    await job.onError(error);
    return;
  }
  // A process that has lost the lock does not write: another process may have written since.
  if (!job.isNotedFirst && !lock.signal.aborted) await store.write(job.name, run);
}

/**
 * Makes the runs while this process holds the lock and the job is not stopped.
 * @param {Job} job
 * @param {RunStore} store
 * @param {Lock} lock
 */
async function lead(job, store, lock) {
  const stop = new CombinedSignal([lock.signal, ...(job.signal === undefined ? [] : [job.signal])]);
  try {
    let last = await lastRun(job, store);
    while (!stop.signal.aborted) {
      const current = currentRun(job);
      if (isOfTheFuture(job, last)) {
        last = await lastRun(job, store);
      } else if (current > last) {
        await makeRun(job, store, current, { lock, signal: stop.signal });
        last = current;
      } else {
        await sleepTowards((last + 1) * job.every + job.offset, stop.signal);
      }
    }
  } finally {
    stop.close();
  }
}

/**
 * Waits for the lock and makes the runs; starts again if the lock was taken away.
 * @param {Job} job
 */
async function takePart(job) {
  const { name, manager, signal, label } = job;
  const store = job.store ?? defaultRunStore(/** @type {any} */ (manager)[BACKEND]());
  while (!signal?.aborted) {
    /** @type {Promise<void> | undefined} */
    let leading;
    try {
      await manager.request(name, { signal, label }, (/** @type {Lock} */ lock) => {
        leading = lead(job, store, lock);
        return leading;
      });
    } catch (error) {
      await leading; // work under the lost lock ends before this process requests the lock again
      const hasEnded = signal?.aborted && error === signal.reason;
      if (!hasEnded && !(error instanceof LockLostError)) throw error;
    }
  }
}

/**
 * Beyond the standard: one of the processes that call this runs the job, once per interval.
 * @param {unknown} name
 * @param {unknown} options
 * @param {unknown} callback
 * @returns {Promise<void>} nothing is thrown
 */
async function runEvery(name, options, callback) {
  await takePart(toJob(name, options, callback));
}

module.exports = { defaultRunStore, runEvery };
