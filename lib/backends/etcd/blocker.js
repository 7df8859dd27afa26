'use strict';

const { endOf, withNumber } = require('./keys.js');
const { isGrantable, limitOf, LONG_QUEUE, numberIn, toWaiters } = require('./queue-state.js');
const {
  get,
  getAll,
  getMadeUntil,
  getNewestBefore,
  keyValuesOf,
  textOf,
} = require('./transaction.js');
const { clearTimeout, setTimeout } = require('../../time.js');
const { WAITING } = require('./etcd-request.js');
const { WaitPath } = require('../wait-path.js');
const { toRequestInfo } = require('./bucket-view.js');

/** @typedef {import('./etcd-request.js').EtcdRequest} EtcdRequest */
/** @typedef {import('./keys.js').RequestClass} RequestClass */
/** @typedef {import('./name-lock.js').NameAccess} NameAccess */
/** @typedef {import('./queue-state.js').Waiter} Waiter */

/**
 * The blocker of a waiter: a request ahead that it has to wait for, otherwise a holder.
 * @typedef {object} Blocker
 * @property {string} key
 * @property {string} [end]  where any of several may make room
 * @property {string} from  the first revision that was not seen
 * @property {boolean} isAhead  in the queue, and no holder
 */

/** So many are read at once; with all other reads, fewer than a transaction may have. */
const AT_ONCE = 50;

const NOT_KNOWN = { found: undefined, isAll: false };

/** @param {EtcdRequest} request @returns {RequestClass[]} what it waits for in the queue */
const classesBefore = (request) => (request.class === 's' ? ['x', 'l'] : ['x', 'l', 's']);

/** @param {string} revision */
const following = (revision) => (BigInt(revision) + 1n).toString();

/**
 * @param {any[]} responses  of ranges with one key at most
 * @returns {string | undefined}
 */
function newestOf(responses) {
  const found = responses.flatMap((response) => keyValuesOf(response));
  found.sort((a, b) => (BigInt(a.create_revision) < BigInt(b.create_revision) ? 1 : -1));
  return found.length === 0 ? undefined : textOf(found[0].key);
}

/**
 * Finds a request that was ahead when the queue was read last: the cost does not depend on the
 * queue's length.
 * @param {NameAccess} access
 * @param {Waiter[]} waiters  oldest first
 * @returns {Promise<Blocker | undefined>} a request that is still there
 */
async function findAmong({ session, changes }, waiters) {
  for (let end = waiters.length; end > 0; end -= AT_ONCE) {
    const some = waiters.slice(Math.max(0, end - AT_ONCE), end);
    const { revision, responses } = await session.read(
      some.map((one) => get(changes.queueKey(one))),
    );
    // A later request may have the id of a request that is gone.
    const found = some.findLast(
      ({ created }, index) => keyValuesOf(responses[index])[0]?.create_revision === created,
    );
    if (found === undefined) continue;
    return { key: changes.queueKey(found), from: following(revision), isAhead: true };
  }
  return undefined;
}

/**
 * Looks among those that are known, reading them anew where there are none: in a long queue the
 * cluster would look at all of it for the nearest request ahead.
 * @param {NameAccess} access
 * @param {EtcdRequest} request
 * @returns {Promise<{ found: Blocker | undefined, isAll: boolean }>} isAll: there is no other
 */
async function findKnown(access, request) {
  for (const isRead of [false, true]) {
    if (isRead) await access.readState();
    const { waiters, isAll } = access.order.before(request);
    const classes = classesBefore(request);
    const ahead = waiters.filter((one) => classes.includes(one.class));
    const found = await findAmong(access, ahead);
    if (found !== undefined || isAll) return { found, isAll };
  }
  return { found: undefined, isAll: false };
}

/**
 * @param {NameAccess} access
 * @param {EtcdRequest} request  the first of its session that waits
 * @returns {Promise<Blocker | undefined>} undefined: nothing is in its way
 */
async function findBlocker(access, request) {
  const isLong = access.length > LONG_QUEUE;
  const { found, isAll } = isLong ? await findKnown(access, request) : NOT_KNOWN;
  if (found !== undefined) return found;
  const { keys, session } = access;
  const classes = isAll ? [] : classesBefore(request);
  const nearest = classes.map((one) => getNewestBefore(keys.queueOf(one), request.created));
  const { revision, responses } = await session.read([
    ...access.changes.countHolders(),
    ...nearest,
  ]);
  const [exclusive, shared, ...before] = responses;
  const from = following(revision);
  if (!isAll) access.noteLength(sumOf(before.map(numberIn)));
  const ahead = newestOf(before);
  if (ahead !== undefined) return { key: ahead, from, isAhead: true };
  const holders = { exclusive: numberIn(exclusive), shared: numberIn(shared) };
  if (isGrantable(request, holders)) return undefined;
  if (holders.exclusive === 0) {
    return { key: keys.heldShared, end: endOf(keys.heldShared), from, isAhead: false };
  }
  return { key: textOf(keyValuesOf(exclusive)[0].key), from, isAhead: false };
}

/** @param {number[]} numbers */
const sumOf = (numbers) => numbers.reduce((sum, number) => sum + number, 0);

/** After this time a waiter reads its blocker. */
const CHECK_AFTER_MS = 50;
/** In a queue that moves, but slowly. */
const MAX_CHECK_AFTER_MS = 1000;
/** So many names are kept. */
const MAX_NAMES = 1000;

/**
 * Recent wait times by name. A waiter reads its blocker only after twice that time: in a long
 * queue, earlier reads would add one read per waiter to every release.
 */
class WaitPace {
  /** @type {Map<string, number>} in ms, by name, oldest first */
  #waits = new Map();

  /**
   * @param {string} name
   * @param {number} ms  from the place in the queue to the lock
   */
  note(name, ms) {
    this.#waits.delete(name);
    if (ms <= CHECK_AFTER_MS / 2) return;
    this.#waits.set(name, ms);
    if (this.#waits.size <= MAX_NAMES) return;
    for (const oldest of this.#waits.keys()) {
      this.#waits.delete(oldest);
      return;
    }
  }

  /** @param {string} name  when to look, in ms: twice the time of the last wait */
  checkAfterMs(name) {
    const ms = this.#waits.get(name);
    return ms === undefined ? CHECK_AFTER_MS : Math.min(2 * ms, MAX_CHECK_AFTER_MS);
  }
}

/** Between two tries where the cluster has no room for a grant, on average. */
const NO_ROOM_MS = 1_000;

/**
 * The oldest waiter of a session reads its blocker and watches for its end: the session that should
 * serve the waiter may have died (E6).
 */
class WaiterCheck {
  #access;
  #checkAfterMs;
  #first;
  #step;
  #grant;
  #reread;
  /** @type {NodeJS.Timeout | undefined} */
  #timer;
  /** @type {{ cancel: () => void } | undefined} */
  #watch;

  /**
   * @param {NameAccess} access
   * @param {object} waiter
   * @param {() => EtcdRequest | undefined} waiter.first  the oldest
   * @param {() => number} waiter.checkAfterMs  so long after it has become that, in ms
   * @param {(request: EtcdRequest) => Promise<boolean>} waiter.grant
   * @param {(request: EtcdRequest) => Promise<void>} waiter.reread  where it stands
   * @param {(step: () => Promise<void>) => void} step  does it in its turn
   */
  constructor(access, { first, checkAfterMs, grant, reread }, step) {
    this.#access = access;
    this.#checkAfterMs = checkAfterMs;
    this.#first = first;
    this.#step = step;
    this.#grant = grant;
    this.#reread = reread;
  }

  /** @param {number} [delayMs] */
  schedule(delayMs = this.#checkAfterMs()) {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#first() === undefined) return;
    this.#timer = setTimeout(() => this.#step(() => this.#read()), delayMs);
  }

  cancel() {
    clearTimeout(this.#timer);
    this.#cancelWatch();
  }

  #cancelWatch() {
    this.#watch?.cancel();
    this.#watch = undefined;
  }

  /**
   * @param {EtcdRequest} request
   * @returns {Promise<boolean>} false: it is gone
   */
  async #grantIfRoom(request) {
    try {
      return await this.#grant(request);
    } catch (error) {
      if (!(/** @type {import('./etcd-errors.js').EtcdError} */ (error).isForSpace)) throw error;
      await this.#reread(request); // it may have been granted in spite of the error
      this.schedule(NO_ROOM_MS * (0.5 + Math.random()));
      return true;
    }
  }

  async #read() {
    this.#cancelWatch();
    const request = this.#first();
    if (request === undefined) return;
    const blocker = await findBlocker(this.#access, request);
    if (request.phase !== WAITING) return;
    if (blocker === undefined && (await this.#grantIfRoom(request))) return;
    // It has the lock by a change that was in doubt, which this session had not seen.
    if (blocker === undefined || blocker.key === this.#access.changes.heldKey(request)) {
      await this.#reread(request);
      this.schedule();
      return;
    }
    const { isAhead, ...watched } = blocker;
    this.#watch = this.#access.session.watches.add({
      ...watched,
      only: 'removals',
      // A request that was ahead has most likely been granted the lock, and will hand it over.
      onEvents: () => this.schedule(isAhead ? CHECK_AFTER_MS : 0),
      onGap: () => this.schedule(0),
    });
  }
}

/** @param {Waiter} waiter */
const toWaiting = (waiter) => ({
  isQueued: true,
  request: toRequest(waiter, waiter.class === 'l' ? limitOf(waiter) : 0),
});

/** @param {Waiter} holder */
const toHeld = (holder) => ({ isQueued: false, request: toRequest(holder, 0) });

/**
 * The id of a request in the thread that has made it.
 * @param {Waiter} waiter
 * @param {boolean} isHeld
 */
const requestIdOf = ({ id, value }, isHeld) =>
  withNumber(id, toRequestInfo(value, { id, isHeld }).number);

/**
 * @param {Waiter} waiter
 * @param {number} limit
 * @returns {{ mode: 'exclusive' | 'shared', extras: { limit: number } }}
 */
const toRequest = (waiter, limit) => ({
  mode: waiter.class === 'x' ? 'exclusive' : 'shared',
  extras: { limit },
});

/**
 * Whether a request in the queue waits for its own thread. The requests ahead of it only leave, so
 * this is checked once in each session.
 * @param {import('./session.js').Session} session
 * @param {import('./keys.js').BucketKeys} bucket
 * @param {EtcdRequest} request
 * @param {Set<string>} own  ids of the thread's other requests
 * @returns {Promise<boolean>}
 * @throws EtcdError, SessionLost (rejects)
 */
async function wouldSelfDeadlock(session, bucket, request, own) {
  const { held, queue } = bucket.ofName(request.name);
  const { responses } = await session.read([getAll(held), getMadeUntil(queue, request.created)]);
  const [holders, waiters] = responses.map((it) => toWaiters(keyValuesOf(it), bucket));
  const position = waiters.findIndex(({ id }) => id === request.id);
  if (position < 0 || request.phase !== WAITING) return false;
  const path = new WaitPath(toWaiting(waiters[position]));
  const ahead = waiters.slice(0, position).reverse();
  return (
    ahead.some((it) => path.isStoppedBy(toWaiting(it), own.has(requestIdOf(it, false)))) ||
    holders.some((it) => path.isStoppedBy(toHeld(it), own.has(requestIdOf(it, true))))
  );
}

module.exports = {
  findBlocker,
  CHECK_AFTER_MS,
  MAX_CHECK_AFTER_MS,
  WaitPace,
  WaiterCheck,
  wouldSelfDeadlock,
};
