'use strict';

const {
  FREED_WORD,
  GATE_WORD,
  GRANTED_BYTES,
  IS_KEPT,
  MAX_KEPT,
  MODE_BYTES,
  REQUESTED_BYTES,
  SLOT_SHIFT,
  STATES_WORD,
  TOKEN_BYTES,
  TURN_WORD,
} = require('./native-constants.js');
const { NO_ID } = require('./request-table.js');

/** A name comes back if it is among the last few. */
const RECENT = 4;
/** How many names with a delay are remembered. */
const MAX_DELAYS = 32;
/** In releases. */
const MIN_DELAY = 8;
const MAX_DELAY = 4096;
/** A record that was taken as often has paid for itself. */
const WORTHWHILE_TAKES = 64;

/**
 * Which names are worth keeping: those that come back. A name that another agent wanted is left
 * alone for a number of releases, which doubles with each time, so that agents which alternate pay
 * for it rarely.
 */
class Comebacks {
  /** @type {(string | undefined)[]} */
  #recent = new Array(RECENT).fill(undefined);
  #next = 0;
  /** @type {Map<string, { left: number, delay: number }>} oldest first */
  #delays = new Map();

  /**
   * To be called with each release.
   * @param {string} name
   * @returns {boolean} whether it should be kept
   */
  isDue(name) {
    if (!this.#recent.includes(name)) {
      this.#recent[this.#next] = name;
      this.#next = (this.#next + 1) % RECENT;
      return false;
    }
    if (this.#delays.size === 0) return true;
    const entry = this.#delays.get(name);
    if (entry === undefined || entry.left === 0) return true;
    entry.left -= 1;
    return false;
  }

  /**
   * @param {string} name
   * @param {number} takes  since it was kept
   */
  delay(name, takes) {
    const delay =
      takes >= WORTHWHILE_TAKES
        ? MIN_DELAY
        : Math.min(MAX_DELAY, 2 * (this.#delays.get(name)?.delay ?? MIN_DELAY / 2));
    this.#delays.delete(name);
    this.#delays.set(name, { left: delay, delay });
    if (this.#delays.size <= MAX_DELAYS) return;
    for (const oldest of this.#delays.keys()) {
      this.#delays.delete(oldest);
      break;
    }
  }
}

/** @typedef {import('../../../types/backend.d.ts').LockBackendRequest} Request */
/** @typedef {import('./request-table.js').RequestTable} RequestTable */

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

/** A record that stays in the lock table when its lock is released. */
class KeptName {
  /** Whether the request with this id holds the lock by it. */
  isTaken = false;
  takes = 0;
  mode = -1;
  turn = -1;

  /**
   * @param {string} name
   * @param {number} id  of its requests, one after another
   * @param {ArrayBuffer} view
   * @param {Int32Array} states  while the lock is free, and while it is taken
   */
  constructor(name, id, view, [idle, taken]) {
    this.name = name;
    this.id = id;
    this.words = new Int32Array(view);
    this.tokens = new BigUint64Array(view);
    this.idle = idle;
    this.taken = taken;
  }
}

/**
 * The names that this agent used last, if no other agent wants them. Their locks are taken and
 * released here, by one exchange of the record's state each, without a call of the native part
 * (docs/decisions/0025-kept-names.md). The C++ core has the same steps in segment/kept_record.cc.
 *
 * Any agent may close a record at any time. Then an exchange fails, and the request or the release
 * goes the ordinary way.
 */
class KeptNames {
  #requests;
  #words;
  /** @type {any} the native agent */
  #agent = null;
  /** @type {BigUint64Array | undefined} the newest token of the bucket */
  #lastToken = undefined;
  /** @type {Map<string, KeptName>} */
  #byName = new Map();
  #isEmpty = true; // a field, because the map's size is a call
  /** @type {(KeptName | undefined)[]} by the native part's slot */
  #slots = [];
  /** @type {KeptName | undefined} used last */
  #last = undefined;
  #comebacks = new Comebacks();
  #canKeep = CAN_READ_HALVES;

  /**
   * @param {RequestTable} requests
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
    this.#words[GATE_WORD] = Math.min(this.#words[GATE_WORD], 0);
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
   * @returns {boolean} whether it was granted; if not, it goes the ordinary way
   */
  take(request) {
    const kept = this.#find(request.name);
    if (kept === undefined || request.extras !== undefined || request.steal) return false;
    if (this.#words[GATE_WORD] <= 0 && !this.#openGate(kept)) return false;
    this.#words[GATE_WORD] -= 1;
    if (kept.isTaken) return false; // it waits for this thread's own lock
    if (kept.words[STATE] === kept.idle && this.#fill(kept, request)) return true;
    this.#free(kept);
    return false;
  }

  /**
   * Stores what belongs to this hold, then takes the record. Nothing here runs other code, and a
   * failure leaves no trace.
   * @param {KeptName} kept
   * @param {Request} request
   * @returns {boolean} whether it is taken
   */
  #fill(kept, request) {
    const { words } = kept;
    kept.tokens[TOKEN] = Atomics.add(/** @type {BigUint64Array} */ (this.#lastToken), 0, 1n) + 1n;
    const tokenHigh = words[TOKEN_HIGH];
    if (tokenHigh <= 0 || tokenHigh >= TOKEN_HIGH_LIMIT) return false;
    const mode = request.mode === 'shared' ? 1 : 0;
    if (kept.mode !== mode) words[MODE] = kept.mode = mode;
    if (kept.turn !== this.#words[TURN_WORD + 1]) this.#stamp(kept);
    request.tokenHigh = tokenHigh;
    request.tokenLow = words[TOKEN_LOW];
    // Noted before the exchange: a thread that is stopped in between must find its lock.
    this.#requests.byId[kept.id] = request;
    request.backendId = kept.id;
    kept.isTaken = true;
    if (Atomics.compareExchange(words, STATE, kept.idle, kept.taken) === kept.idle) return true;
    kept.isTaken = false;
    request.tokenHigh = request.tokenLow = 0;
    this.#requests.byId[kept.id] = null;
    request.backendId = NO_ID;
    return false;
  }

  /** @param {KeptName} kept */
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
  giveBack(request) {
    if (this.#words[FREED_WORD] !== 0) this.#dropFreed(); // the ids of freed ones are used again
    const kept = this.#find(request.name);
    if (kept === undefined || kept.id !== request.backendId) return false;
    if (
      this.#words[GATE_WORD] >= 0 && // below: a forked child
      Atomics.compareExchange(kept.words, STATE, kept.taken, kept.idle) === kept.taken
    ) {
      kept.isTaken = false;
      kept.takes += 1;
      this.#requests.byId[kept.id] = null;
      request.backendId = NO_ID;
      return true;
    }
    this.#drop(kept);
    return false;
  }

  /**
   * @param {string} name  of a request without extras, about to release its lock the ordinary way
   * @returns {boolean} whether to call endOrKeep()
   */
  wants(name) {
    return (
      this.#canKeep &&
      this.#agent !== null &&
      this.#byName.size < MAX_KEPT &&
      this.#comebacks.isDue(name)
    );
  }

  /**
   * Releases a lock like the native end(), and keeps its record if no other agent is concerned.
   * @param {Request} request
   * @returns {number} the answer of end()
   */
  endOrKeep(request) {
    const { name, backendId: id } = request;
    const old = this.#byName.get(name);
    if (old?.isTaken === false) this.#free(old);
    else if (old !== undefined) this.#drop(old); // shared with `id`, whose request has closed it
    this.#dropFreed(); // a slot that is used again must not count as freed
    const answer = this.#agent.endOrKeep(id);
    this.#requests.byId[id] = null;
    request.backendId = NO_ID;
    if ((answer & IS_KEPT) === 0) {
      this.#comebacks.delay(name, 0);
      return answer;
    }
    const slot = answer >> SLOT_SHIFT;
    if (!this.#add(slot, id, name)) {
      this.#canKeep = false;
      this.#agent.dropKept(id);
    }
    return answer & (IS_KEPT - 1);
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
    this.#last = new KeptName(name, id, view, states);
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
    const kept = this.#byName.get(name);
    if (kept !== undefined) this.#last = kept;
    return kept;
  }

  /**
   * The gate is open for one turn of the loop and for so many takes: then the native part looks
   * whether the lock table is still in its place.
   * @param {KeptName} kept
   * @returns {boolean} whether the name may be taken
   */
  #openGate(kept) {
    this.#dropFreed();
    return this.#byName.get(kept.name) === kept && this.#agent.openGate();
  }

  /** Forgets what the native part has freed. */
  #dropFreed() {
    const freed = this.#words[FREED_WORD];
    if (freed === 0) return;
    this.#words[FREED_WORD] = 0;
    for (let slot = 0; slot < MAX_KEPT; slot += 1) {
      const kept = this.#slots[slot];
      if ((freed & (1 << slot)) !== 0 && kept !== undefined) this.#forget(kept);
    }
  }

  /**
   * Another agent, or another request of this thread, has closed it.
   * @param {KeptName} kept
   */
  #drop(kept) {
    this.#forget(kept);
    this.#comebacks.delay(kept.name, kept.takes);
  }

  /**
   * The same, and its lock is not held.
   * @param {KeptName} kept
   */
  #free(kept) {
    this.#drop(kept);
    this.#agent.dropKept(kept.id);
  }

  /** @param {KeptName} kept */
  #forget(kept) {
    this.#byName.delete(kept.name);
    this.#isEmpty = this.#byName.size === 0;
    this.#slots[this.#slots.indexOf(kept)] = undefined;
    if (this.#last === kept) this.#last = undefined;
  }
}

module.exports = { Comebacks, KeptNames };
