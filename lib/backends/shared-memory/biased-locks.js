'use strict';

const {
  FREED_WORD,
  BUDGET_WORD,
  GRANTED_BYTES,
  IS_BIASED,
  MAX_BIASED,
  MODE_BYTES,
  REQUESTED_BYTES,
  SLOT_SHIFT,
  STATES_WORD,
  TOKEN_BYTES,
  TURN_WORD,
} = require('./native-constants.js');
const { NO_ID } = require('./agent-requests.js');

/** A name that was released again among so many names is used repeatedly. */
const RECENT = 4;
/** How many names with a backoff are remembered. */
const MAX_BACKOFFS = 32;
/** In releases. */
const MIN_BACKOFF = 8;
const MAX_BACKOFF = 4096;
/** A bias that has saved as many native calls has paid for itself. */
const WORTHWHILE_ACQUISITIONS = 64;

/**
 * Decides which names are biased: those that this agent uses repeatedly. After a revocation a name
 * is not biased for a number of releases. That number doubles each time, so agents that alternate
 * rarely pay for a bias.
 */
class RebiasBackoff {
  /** @type {(string | undefined)[]} */
  #recent = new Array(RECENT).fill(undefined);
  #next = 0;
  /** @type {Map<string, { left: number, releases: number }>} oldest first */
  #backoffs = new Map();

  /**
   * To be called with each release.
   * @param {string} name
   * @returns {boolean} whether to bias its lock
   */
  shouldBias(name) {
    if (!this.#recent.includes(name)) {
      this.#recent[this.#next] = name;
      this.#next = (this.#next + 1) % RECENT;
      return false;
    }
    if (this.#backoffs.size === 0) return true;
    const entry = this.#backoffs.get(name);
    if (entry === undefined || entry.left === 0) return true;
    entry.left -= 1;
    return false;
  }

  /**
   * @param {string} name
   * @param {number} acquisitions  since it was biased
   */
  backOff(name, acquisitions) {
    const releases =
      acquisitions >= WORTHWHILE_ACQUISITIONS
        ? MIN_BACKOFF
        : Math.min(MAX_BACKOFF, 2 * (this.#backoffs.get(name)?.releases ?? MIN_BACKOFF / 2));
    this.#backoffs.delete(name);
    this.#backoffs.set(name, { left: releases, releases });
    if (this.#backoffs.size <= MAX_BACKOFFS) return;
    for (const oldest of this.#backoffs.keys()) {
      this.#backoffs.delete(oldest);
      break;
    }
  }
}

/** @typedef {import('../../../types/backend.d.ts').LockBackendRequest} Request */
/** @typedef {import('./agent-requests.js').AgentRequests} AgentRequests */

/** Indexes into a view of a record: of 32-bit words, except for the token's 64 bits. */
const STATE = 0;
const MODE = MODE_BYTES / 4;
const TOKEN = TOKEN_BYTES / 8;
const TOKEN_LOW = TOKEN_BYTES / 4;
const TOKEN_HIGH = TOKEN_LOW + 1;
const REQUESTED = REQUESTED_BYTES / 4;
const GRANTED = GRANTED_BYTES / 4;

/** The upper half of a sound token is below; the native part repairs others. */
const TOKEN_HIGH_LIMIT = 1 << 30;
/** The halves of a number are where a processor with the low one first has them. */
const CAN_READ_HALVES = new Uint8Array(new Uint16Array([1]).buffer)[0] === 1;

/** A lock whose record stays in the lock table when it is released. */
class BiasedLock {
  /** Whether the request with this id holds it. */
  isHeld = false;
  acquisitions = 0;
  mode = -1;
  turn = -1;

  /**
   * @param {string} name
   * @param {number} id  of its requests, one after another
   * @param {ArrayBuffer} view
   * @param {Int32Array} states  of the record, while the lock is free and while it is held
   */
  constructor(name, id, view, [freeState, heldState]) {
    this.name = name;
    this.id = id;
    this.words = new Int32Array(view);
    this.tokens = new BigUint64Array(view);
    this.freeState = freeState;
    this.heldState = heldState;
  }
}

/**
 * The biased locks of this agent: it used their names last, and no other agent requests them. They
 * are acquired and released here, by one compare-and-exchange of the record's state each, without a
 * call of the native part (docs/decisions/0025-biased-locks.md). The C++ core has the same steps in
 * segment/biased_record.cc.
 *
 * Any agent may revoke a bias at any time. Then an exchange fails, and the native part handles the
 * request or the release.
 */
class BiasedLocks {
  #requests;
  #words;
  /** @type {any} the native agent */
  #agent = null;
  /** @type {BigUint64Array | undefined} the newest token of the bucket */
  #lastToken = undefined;
  /** @type {Map<string, BiasedLock>} */
  #byName = new Map();
  #isEmpty = true; // a field, because the map's size is a call
  /** @type {(BiasedLock | undefined)[]} by the native part's slot */
  #slots = [];
  /** @type {BiasedLock | undefined} used last */
  #last = undefined;
  #backoff = new RebiasBackoff();
  #canBias = CAN_READ_HALVES;

  /**
   * @param {AgentRequests} requests
   */
  constructor(requests) {
    this.#requests = requests;
    this.#words = requests.words;
  }

  /**
   * To be called before the views of the last native agent are detached, and with a new one.
   * @param {any} agent  null: none
   * @returns {any} it
   */
  attach(agent) {
    this.#agent = agent;
    this.#words[BUDGET_WORD] = Math.min(this.#words[BUDGET_WORD], 0);
    this.#words[FREED_WORD] = 0;
    this.#lastToken = undefined;
    this.#byName.clear();
    this.#isEmpty = true;
    this.#slots = [];
    this.#last = undefined;
    return agent;
  }

  /**
   * @param {Request} request
   * @returns {boolean} whether it was granted; if not, the native part handles it
   */
  acquire(request) {
    const lock = this.#find(request.name);
    if (lock === undefined || request.extras !== undefined || request.steal) return false;
    if (this.#words[BUDGET_WORD] <= 0 && !this.#renewBudget(lock)) return false;
    this.#words[BUDGET_WORD] -= 1;
    if (lock.isHeld) return false; // the request waits for this thread's own lock
    if (lock.words[STATE] === lock.freeState && this.#exchange(lock, request)) return true;
    this.#drop(lock);
    return false;
  }

  /**
   * Stores the token and the time of this hold, then acquires the lock. Nothing here runs other
   * code, and a failure leaves no trace.
   * @param {BiasedLock} lock
   * @param {Request} request
   * @returns {boolean} whether it is held
   */
  #exchange(lock, request) {
    const { words } = lock;
    lock.tokens[TOKEN] = Atomics.add(/** @type {BigUint64Array} */ (this.#lastToken), 0, 1n) + 1n;
    const tokenHigh = words[TOKEN_HIGH];
    if (tokenHigh <= 0 || tokenHigh >= TOKEN_HIGH_LIMIT) return false;
    const mode = request.mode === 'shared' ? 1 : 0;
    if (lock.mode !== mode) words[MODE] = lock.mode = mode;
    if (lock.turn !== this.#words[TURN_WORD + 1]) this.#stamp(lock);
    request.tokenHigh = tokenHigh;
    request.tokenLow = words[TOKEN_LOW];
    // Noted before the exchange: a thread that is stopped in between must find its lock.
    this.#requests.byId[lock.id] = request;
    request.backendId = lock.id;
    lock.isHeld = true;
    if (Atomics.compareExchange(words, STATE, lock.freeState, lock.heldState) === lock.freeState)
      return true;
    lock.isHeld = false;
    request.tokenHigh = request.tokenLow = 0;
    this.#requests.byId[lock.id] = null;
    request.backendId = NO_ID;
    return false;
  }

  /** @param {BiasedLock} lock */
  #stamp({ words }) {
    const high = this.#words[TURN_WORD];
    const low = this.#words[TURN_WORD + 1];
    words[REQUESTED] = words[GRANTED] = low;
    words[REQUESTED + 1] = words[GRANTED + 1] = high;
  }

  /**
   * @param {Request} request  that holds a lock
   * @returns {boolean} whether the lock was released here
   */
  release(request) {
    if (this.#words[FREED_WORD] !== 0) this.#forgetFreed(); // the ids of freed ones are used again
    const lock = this.#find(request.name);
    if (lock === undefined || lock.id !== request.backendId) return false;
    if (
      this.#words[BUDGET_WORD] >= 0 && // below: a forked child
      Atomics.compareExchange(lock.words, STATE, lock.heldState, lock.freeState) === lock.heldState
    ) {
      lock.isHeld = false;
      lock.acquisitions += 1;
      this.#requests.byId[lock.id] = null;
      request.backendId = NO_ID;
      return true;
    }
    this.#forgetRevoked(lock);
    return false;
  }

  /**
   * @param {string} name  of a request without extras, whose release the native part is to handle
   * @returns {boolean} whether to call releaseAndBias()
   */
  shouldBias(name) {
    return (
      this.#canBias &&
      this.#agent !== null &&
      this.#byName.size < MAX_BIASED &&
      this.#backoff.shouldBias(name)
    );
  }

  /**
   * Releases a lock like the native end(), and biases it if no other agent is concerned.
   * @param {Request} request
   * @returns {number} the answer of end()
   */
  releaseAndBias(request) {
    const { name, backendId: id } = request;
    const old = this.#byName.get(name);
    if (old?.isHeld === false) this.#drop(old);
    else if (old !== undefined) this.#forgetRevoked(old); // the shared request `id` revoked it
    this.#forgetFreed(); // a slot that is used again must not count as freed
    const answer = this.#agent.endOrBias(id);
    this.#requests.byId[id] = null;
    request.backendId = NO_ID;
    if ((answer & IS_BIASED) === 0) {
      this.#backoff.backOff(name, 0);
      return answer;
    }
    const slot = answer >> SLOT_SHIFT;
    if (!this.#add(slot, id, name)) {
      this.#canBias = false;
      this.#agent.dropBiased(id);
    }
    return answer & (IS_BIASED - 1);
  }

  /**
   * @param {number} slot
   * @param {number} id
   * @param {string} name
   * @returns {boolean} false: the environment has no views
   */
  #add(slot, id, name) {
    const states = this.#words.subarray(STATES_WORD);
    const view = this.#agent.view(slot);
    const tokens = this.#lastToken?.buffer ?? this.#agent.tokenView();
    if (view === null || tokens === null) return false;
    this.#lastToken ??= new BigUint64Array(tokens);
    this.#last = new BiasedLock(name, id, view, states);
    this.#byName.set(name, this.#last);
    this.#isEmpty = false;
    this.#slots[slot] = this.#last;
    return true;
  }

  /** @param {string} name */
  #find(name) {
    const last = this.#last;
    if (last !== undefined && last.name === name) return last;
    return this.#findOther(name);
  }

  /** @param {string} name */
  #findOther(name) {
    if (this.#isEmpty) return undefined;
    const lock = this.#byName.get(name);
    if (lock !== undefined) this.#last = lock;
    return lock;
  }

  /**
   * The acquisition budget is for one turn of the loop. To renew it, the native part checks that
   * the lock table still exists.
   * @param {BiasedLock} lock
   * @returns {boolean} whether the lock may be acquired here
   */
  #renewBudget(lock) {
    this.#forgetFreed();
    return this.#byName.get(lock.name) === lock && this.#agent.renewBudget();
  }

  /** Forgets the locks whose records the native part has freed. */
  #forgetFreed() {
    const freed = this.#words[FREED_WORD];
    if (freed === 0) return;
    this.#words[FREED_WORD] = 0;
    for (let slot = 0; slot < MAX_BIASED; slot += 1) {
      const lock = this.#slots[slot];
      if ((freed & (1 << slot)) !== 0 && lock !== undefined) this.#forget(lock);
    }
  }

  /**
   * Another agent, or another request of this thread, has revoked its bias.
   * @param {BiasedLock} lock
   */
  #forgetRevoked(lock) {
    this.#forget(lock);
    this.#backoff.backOff(lock.name, lock.acquisitions);
  }

  /**
   * The same for a lock that is not held; frees its record.
   * @param {BiasedLock} lock
   */
  #drop(lock) {
    this.#forgetRevoked(lock);
    this.#agent.dropBiased(lock.id);
  }

  /** @param {BiasedLock} lock */
  #forget(lock) {
    this.#byName.delete(lock.name);
    this.#isEmpty = this.#byName.size === 0;
    this.#slots[this.#slots.indexOf(lock)] = undefined;
    if (this.#last === lock) this.#last = undefined;
  }
}

module.exports = { RebiasBackoff, BiasedLocks };
