'use strict';

const { clearTimeout, dateNow, setImmediate, setTimeout } = require('../../time.js');
const { SessionLost } = require('../remote/lock-session.js');
const { isGrantable: isModeGrantable } = require('../grantable.js');
const { PRIORITY_RANK } = require('../../task-priority.js');
const { WaitPath } = require('../wait-path.js');
const { requestOf, toRequest } = require('./bucket-view.js');
const { Contention } = require('./contention.js');
const { EtcdError } = require('./etcd-errors.js');
const { DEFAULT_PRIORITY, endOf, PRIORITIES, toLease, withNumber } = require('./keys.js');
const { byAge, inOrder, isBefore, merge, OvertakeLog } = require('./queue-order.js');
const { MAX_BATCH, sliceWhile, StepQueue } = require('./step-queue.js');
const {
  areNoneBefore,
  areNoneSince,
  countOf,
  following,
  get,
  getAll,
  getNewestBefore,
  getOldest,
  isChangedAt,
  isCreatedAt,
  isEmpty,
  keyValuesOf,
  nested,
  put,
  remove,
  textOf,
} = require('./transaction.js');

/** @typedef {import('../remote/lock-session.js').RemoteRequest} RemoteRequest */
/** @typedef {import('../remote/lock-session.js').SessionHost} SessionHost */
/** @typedef {import('../remote/request-table.js').RequestMessage} RequestMessage */
/** @typedef {import('./keys.js').BucketKeys} BucketKeys */
/** @typedef {import('./keys.js').RequestClass} RequestClass */
/** @typedef {import('./keys.js').RequestKey} RequestKey */
/** @typedef {import('./session.js').Session} Session */

/** @typedef {'timedout' | 'expired' | undefined} Why  a request ends */
/** @typedef {{ request: EtcdRequest, why: Why }} End */
/** Of a read, or of a change. @typedef {{ revision: string, responses: any[] }} Answer */

// The life of a request: the cluster does not know it; it waits; it holds the lock; it is over.
const NEW = 0;
const WAITING = 1;
const HELD = 2;
const OVER = 3;

/** A request in one session. */
class EtcdRequest {
  phase = NEW;
  /** The agent has ended it; a later grant is released. */
  isEnding = false;
  /** Its hold limit has passed. */
  isExpiring = false;
  /** The revision at which it entered the queue. */
  created = '0';
  /** The revision of its grant. */
  token = '0';
  /** The token of the last stolen lock of this id: the notice may be faster than the grant. */
  stolenToken = '0';
  isStolen = false;
  /** The requests that followed it, as far as the session that granted it knew. @type {Waiter[]} */
  followers = [];
  /** @type {NodeJS.Timeout | undefined} */
  holdTimer = undefined;
  id = '';

  /** @param {RemoteRequest} remote */
  constructor(remote) {
    const { number, name, mode, steal, since, extras } = remote.message;
    this.remote = remote;
    this.number = number;
    this.name = name;
    this.maxPending = remote.maxPending;
    this.steal = steal;
    const { holdLimit = 0, limit = 0, label = '', callSite = '', enclosing = null } = extras ?? {};
    this.priority = toPriority(remote.message);
    this.holdLimit = holdLimit;
    this.limit = limit;
    /** @type {RequestClass} */
    this.class = mode === 'exclusive' ? 'x' : limit === 0 ? 's' : 'l';
    this.details = [since, holdLimit, limit, label, callSite, enclosing, number];
    this.value = JSON.stringify(this.details);
  }

  /**
   * The value of its key. Only a priority, or an overtake, adds to it.
   * @param {string[]} [behind]  see Queued
   * @param {number} [priority]
   */
  valueBehind(behind = [], priority = this.priority) {
    const isPlain = behind.length === 0 && priority === DEFAULT_PRIORITY;
    return isPlain ? this.value : JSON.stringify([...this.details, priority, behind]);
  }
}

/** @param {RequestMessage} message */
const toPriority = ({ extras }) =>
  extras?.priority === undefined ? DEFAULT_PRIORITY : PRIORITY_RANK[extras.priority];

/** @typedef {import('./bucket-view.js').StoredRequest} StoredRequest */

/**
 * A request in the queue; readAt: the revision of the read; null: it entered since, behind all
 * others; stoppers: see merge(); isLast: the last one of the queue.
 * @typedef {StoredRequest & { readAt: string | null, stoppers: StoredRequest[],
 *   isLast?: boolean }} Waiter
 */

/**
 * The state of a request in the cluster.
 * @typedef {{ phase: number, revision: string, mustServe?: boolean }} Found  mustServe: perhaps the
 *   lock was free before the request entered the queue
 */

/**
 * @typedef {object} State  of a name, for a request that enters the queue
 * @property {number} priority  of the request
 * @property {string} revision
 * @property {{ exclusive: number, shared: number }} holders
 * @property {object[]} holder  compares that the exclusive holder is still there; none: it is not
 * @property {number} length  of the queue
 * @property {number} overtaken  how many wait with a lower priority
 * @property {OvertakeLog} log
 */

/**
 * Requests that wait or hold, and end together; held: those that hold; mustServe: the queue is
 * served after it.
 * @typedef {{ open: EtcdRequest[], why: Why, held: Set<EtcdRequest>, mustServe: boolean }} Ending
 */

/**
 * isHandedOff: the next request has the lock; answers: to the removals and a read of the front;
 * none: not known.
 * @typedef {{ isHandedOff: boolean, revision: string, answers: any[] }} Removal
 */

/**
 * A waiter in a notice; created: ENTERING if it enters with the change that writes the notice.
 * @typedef {[requestClass: RequestClass, id: string, priority: number, created: string,
 *   value: string]} Follower
 */

/** No key has this revision: the revision of the change is not known before it is made. */
const ENTERING = '0';
/** So many of the requests that follow are in the notice of a grant, with so many characters. */
const MAX_FOLLOWERS = 8;
const MAX_FOLLOWERS_TEXT = 4_096;
/** So many requests of the queue are read at once, at least and at most. */
const MIN_HEADS = MAX_FOLLOWERS + 1;
const MAX_HEADS = 1_000;
/** In a queue of more requests, a read would hold up the other changes of its transaction. */
const LONG_QUEUE = 1_000;
/**
 * After this time a waiter checks its blocker. In a queue that moves, each check would slow the
 * hand-offs, and so make more requests wait for so long.
 */
const CHECK_AFTER_MS = 1_000;
/** So long the session that has ended a blocker has to serve the queue. */
const SERVE_WITHIN_MS = 200;
/** Between two tries if the cluster has no room for a grant, on average. */
const NO_ROOM_MS = 1_000;
/** The lease, the comparisons and the frame of a key in a transaction. */
const MORE_BYTES = 200;
/** How often the end of a request names its key. */
const KEYS_OF_END = 3;
/** A request that was refused so often because others are faster gets its turn in the queue. */
const MAX_REFUSALS = 3;
/** The highest priority. */
const URGENT = PRIORITIES.length - 1;
/** The keys of a longer name fill a transaction: then a read of the front is separate. */
const LONG_KEY = 2 ** 14;

/** @param {EtcdRequest} request */
const isOpen = ({ phase }) => phase === WAITING || phase === HELD;

/**
 * @param {{ class: RequestClass, id: string, priority: number }} request
 * @param {string} created
 * @param {string} value  of its key
 * @returns {Follower}
 */
const toFollower = ({ class: it, id, priority }, created, value) => [
  it,
  id,
  priority,
  created,
  value,
];

/** @param {Waiter} waiter @param {EtcdRequest} request */
const isOf = ({ id, created }, request) => id === request.id && created === request.created;

/**
 * The requests that may still wait when a request has left the queue.
 * @param {EtcdRequest} request
 * @param {Waiter[]} heads
 * @returns {Waiter[] | undefined} undefined: it is not the first of them
 */
const restBehind = (request, [first, ...rest]) =>
  first !== undefined && isOf(first, request) ? rest : undefined;

/**
 * @param {EtcdRequest[]} requests
 * @param {Why} why
 * @param {boolean} isLast  others do not follow at once
 * @returns {Ending}
 */
function toEnding(requests, why, isLast) {
  const open = requests.filter(isOpen);
  const held = new Set(open.filter(({ phase }) => phase === HELD));
  return { open, why, held, mustServe: isLast || held.size > 0 };
}

/**
 * Whether a change was refused for what it writes: there is no room, or the session of the request
 * that it grants has ended.
 * @param {any} error  an EtcdError
 */
const isWriteRefused = ({ isForSpace, isLeaseGone }) => isForSpace || isLeaseGone;

/** @param {EtcdRequest} request */
const mayFollow = ({ steal, maxPending, isEnding }) =>
  !steal && maxPending === Infinity && !isEnding;

/**
 * Whether it counts requests, which no transaction can do: the holders, or those that wait.
 * @param {EtcdRequest} request
 */
const isCounted = ({ class: it, maxPending }) =>
  it === 'l' || (maxPending > 0 && maxPending < Infinity);

/**
 * Whether the first of the queue is grantable.
 * @param {{ class: RequestClass, limit: number }} head
 * @param {{ exclusive: number, shared: number }} holders
 */
const isGrantable = ({ class: it, limit }, { exclusive, shared }) =>
  isModeGrantable(it === 'x' ? 'exclusive' : 'shared', limit, exclusive, shared);

/** @param {any} response  of a range */
const numberIn = (response) => Number(response.response_range.count);

/** @param {number[]} numbers */
const sumOf = (numbers) => numbers.reduce((sum, it) => sum + it, 0);

/**
 * The requests of one session for one name. Its steps run one after the other, so that the cluster
 * receives the requests in order. It keeps the invariants E1 to E8 (docs/etcd-protocol.md).
 */
class NameLock {
  #session;
  #bucket;
  #keys;
  #host;
  #steps = new StepQueue(
    (error) => this.#onError(error),
    () => {
      if (this.#waitingCount + this.#held.size === 0) this.#host.onIdle();
    },
  );
  /** By priority, oldest first. @type {Set<EtcdRequest>[]} */
  #waiting = PRIORITIES.map(() => new Set());
  /** @type {Set<EtcdRequest>} */
  #held = new Set();
  /**
   * The requests that follow the exclusive holder, in their order, as they were at a read of the
   * front. If none has entered since with a higher priority, the first that is still there is the
   * next one (E2).
   * @type {Waiter[]}
   */
  #heads = [];
  #minHeads = MIN_HEADS;
  #isQueueLong = false;
  #isNameLong;
  /** @type {{ key: string, cancel: () => void } | undefined} for the end of the blocker */
  #watch;
  /** @type {NodeJS.Timeout | undefined} until the blocker is checked */
  #timer;
  /** @type {Contention | undefined} if a holder watches it */
  #contention;

  /**
   * @param {string} name
   * @param {Session} session
   * @param {BucketKeys} bucket
   * @param {SessionHost & { onIdle: () => void }} host  onIdle: nothing waits or holds
   */
  constructor(name, session, bucket, host) {
    this.#session = session;
    this.#bucket = bucket;
    this.#keys = bucket.ofName(name);
    this.#isNameLong = this.#keys.base.length > LONG_KEY;
    this.#host = host;
  }

  /** @returns {EtcdRequest | undefined} that holds the lock for itself */
  get #holder() {
    const [held] = this.#held;
    return held?.class === 'x' ? held : undefined;
  }

  get #waitingCount() {
    return sumOf(this.#waiting.map(({ size }) => size));
  }

  /** @param {EtcdRequest} request */
  enter(request) {
    this.#steps.addTo(this.#enterAll, request);
  }

  /**
   * Releases a lock, or leaves the queue.
   * @param {EtcdRequest} request
   * @param {Why} why  for those who watch
   */
  end(request, why) {
    request.isEnding = true;
    this.#steps.addTo(this.#endAll, { request, why });
  }

  /**
   * Moves it to the end of the requests with that priority, if it still waits.
   * @param {EtcdRequest} request
   * @param {number} priority
   */
  changePriority(request, priority) {
    this.#steps.add(() => this.#move(request, priority));
  }

  /**
   * After everything that was requested before.
   * @template T
   * @param {() => Promise<T>} action
   */
  after(action) {
    return this.#steps.run(action);
  }

  /**
   * After everything that was requested before.
   * @param {number} min  shared holders; one exclusive holder is enough
   */
  isLocked(min) {
    return this.after(async () => {
      const { responses } = await this.#session.read([countOf(this.#keys.held)]);
      const { exclusive, shared } = this.#toHolders(responses[0]);
      return exclusive > 0 || shared >= min;
    });
  }

  /**
   * Exclusive and shared ones are not there together.
   * @param {any} response  the count of the held keys
   */
  #toHolders(response) {
    const [first] = keyValuesOf(response);
    const isExclusive =
      first !== undefined && textOf(first.key).startsWith(this.#keys.heldExclusive);
    const count = numberIn(response);
    return { exclusive: isExclusive ? count : 0, shared: isExclusive ? 0 : count };
  }

  /**
   * @param {EtcdRequest} request
   * @param {{ stolen?: boolean, token?: string, granted?: string, readAt?: string,
   *   followers?: Follower[], entered?: Follower[] }} notice  granted: when the request entered the
   *   queue, which clients of earlier revisions do not name; entered: the followers that entered
   *   since the read; none: there may be others
   * @param {string} revision  of the notice
   */
  onNotice(request, notice, revision) {
    const { stolen = false, token = '0', granted, readAt = '0', followers = [], entered } = notice;
    if (granted !== undefined) {
      request.followers = [
        ...this.#toWaiters(followers, readAt, revision),
        ...this.#toWaiters(entered ?? [], null, revision),
      ];
      const last = request.followers.at(-1);
      if (last !== undefined) last.isLast = entered !== undefined;
    }
    if (stolen) {
      request.stolenToken = token; // later notices have larger ones
      if (request.phase === HELD && request.token === token) {
        this.#lose(request);
        this.#steps.add(async () => {}); // after it nothing may be left
      }
    } else if (request.phase === WAITING && request.created === granted) {
      this.#holdInOrder(request, revision);
    } else if (request.phase !== HELD) {
      this.reread(); // the grant may be faster than the answer to the entry
    }
  }

  /**
   * Reports the highest priority that waits for the lock, at each change while it is held.
   * @param {EtcdRequest} request
   */
  watchContention(request) {
    if (request.phase !== HELD) return;
    this.#contention ??= new Contention(this.#bucket, this.#keys, this.#session, {
      addStep: (step) => this.#steps.add(step),
      onChange: ({ remote }, priority) => this.#host.onContentionChanged(remote, priority),
    });
    this.#contention.add(request);
  }

  /** Notices may have been missed: reads the state of each request. */
  reread() {
    this.#steps.add(() => this.#readStates([this.#held, ...this.#waiting]));
    this.#checkLater(0);
  }

  /** @param {Set<EtcdRequest>[]} lists */
  async #readStates(lists) {
    for (const list of lists) {
      for await (const { request, found } of this.#findAll([...list])) {
        this.#update(request, found);
        if (request.phase === WAITING) break; // and so do the later ones
      }
    }
  }

  /** The session is over. */
  close() {
    clearTimeout(this.#timer);
    this.#unwatch();
    this.#contention?.close();
    for (const { holdTimer } of this.#held) clearTimeout(holdTimer);
  }

  /** @param {unknown} error */
  #onError(error) {
    if (error instanceof SessionLost) return;
    if (!(error instanceof EtcdError)) throw error;
    this.#session.abandon();
  }

  /** @param {{ class: RequestClass, id: string }} request */
  #heldKey(request) {
    return this.#keys.heldKey(request.class, request.id);
  }

  /** @param {EtcdRequest} request */
  #queueKey(request) {
    return this.#keys.queueKey(request.class, request.id, request.priority);
  }

  /** @param {EtcdRequest} request */
  #bytesOf = (request) =>
    this.#queueKey(request).length + Buffer.byteLength(request.value) + MORE_BYTES;

  /**
   * @param {EtcdRequest} request
   * @param {string[]} [behind]  see Queued
   */
  #putQueue(request, behind) {
    return put(this.#queueKey(request), request.valueBehind(behind), this.#session.lease);
  }

  /** @param {EtcdRequest} request */
  #putHeld(request) {
    const value = `${dateNow()} ${request.valueBehind()}`;
    return put(this.#heldKey(request), value, this.#session.lease);
  }

  /** @param {EtcdRequest} request */
  #readOwn(request) {
    return [this.#heldKey(request), this.#queueKey(request)].map(get);
  }

  /** @param {EtcdRequest} request @returns {Promise<Found | undefined>} undefined: nowhere */
  async #find(request) {
    return toFound((await this.#session.read(this.#readOwn(request))).responses);
  }

  /**
   * Reads the states of requests, some at a time.
   * @param {EtcdRequest[]} requests
   * @returns {AsyncGenerator<{ request: EtcdRequest, found: Found | undefined }>}
   */
  async *#findAll(requests) {
    for (let i = 0; i < requests.length;) {
      const bytesOf = (/** @type {EtcdRequest} */ it) => 2 * this.#bytesOf(it);
      const some = sliceWhile(requests, i, () => true, bytesOf).slice(0, MAX_BATCH / 2);
      const { responses } = await this.#session.read(some.flatMap((it) => this.#readOwn(it)));
      for (const [at, request] of some.entries()) {
        yield { request, found: toFound(responses.slice(2 * at, 2 * at + 2)) };
      }
      i += some.length;
    }
  }

  #enterAll = async (/** @type {EtcdRequest[]} */ requests) => {
    const ends = await this.#takeEnds();
    let isReleased = false;
    for (let i = 0; i < requests.length;) {
      const { priority } = requests[i];
      const belongs = (/** @type {EtcdRequest} */ it) => it.priority === priority && mayFollow(it);
      const mustWait = this.#mustWait(priority);
      const batch = mustWait ? sliceWhile(requests, i, belongs, this.#bytesOf) : [];
      const some = batch.length > 0 ? batch : [requests[i]];
      i += some.length;
      const released = i === requests.length ? this.#releasedBy(ends) : undefined;
      if (batch.length > 0 && (await this.#follow(batch, released))) {
        isReleased = released !== undefined;
        continue;
      }
      // If one has been ended, the end is a step that follows.
      for (const request of some) if (!request.isEnding) await this.#enter(request);
    }
    if (!isReleased) await this.#endAll(ends);
  };

  /**
   * The ends that follow at once, if the next request is known: so that a request inside a callback
   * and the release after it are one change.
   * @returns {Promise<End[]>}
   */
  async #takeEnds() {
    if (this.#heads.length === 0) return [];
    // Messages that have arrived together come first.
    await new Promise((resolve) => setImmediate(resolve));
    return this.#steps.takeNext(this.#endAll);
  }

  /**
   * The exclusive holder, if these ends are its release, and an exclusive request is next.
   * @param {End[]} ends
   */
  #releasedBy(ends) {
    const holder = this.#holder;
    const isRelease = ends.length === 1 && ends[0].request === holder && ends[0].why === undefined;
    const isHandOff = isRelease && this.#heads.at(0)?.class === 'x' && !this.#isNameLong;
    return isHandOff ? holder : undefined;
  }

  /**
   * Whether a request of this session is in the way of another one, which overtakes none of it.
   * @param {number} priority  of the other one
   */
  #mustWait(priority) {
    const isWaiting = (/** @type {Set<EtcdRequest>} */ { size }) => size > 0;
    if (this.#waiting.slice(0, priority).some(isWaiting)) return false;
    return this.#holder !== undefined || this.#waiting.slice(priority).some(isWaiting);
  }

  /**
   * Puts requests behind one of the same session that waits, or holds the lock for itself.
   * @param {EtcdRequest[]} requests  of one priority
   * @param {EtcdRequest} [released]  the exclusive holder, which hands off with the same change
   * @returns {Promise<boolean>} false: nothing was changed, because requests with a lower priority
   *   wait, or because the change with the hand-off was refused
   */
  async #follow(requests, released) {
    this.#session.identify(requests);
    const [next] = this.#heads;
    // The next request may have gone, and its id be used again: no change puts and removes a key.
    if (released !== undefined && requests.some(({ id }) => id === next.id)) {
      for (const request of requests) this.#session.ids.free(request);
      return false;
    }
    let wasInDoubt = false;
    const compare = this.#keys.below(requests[0].priority).map(isEmpty);
    const puts = requests.map((it) => this.#putQueue(it));
    const isNextUnknown =
      this.#holder !== undefined && this.#heads.length === 0 && !this.#isNameLong;
    const front = isNextUnknown ? this.#front() : [];
    const ending = released && toEnding([released], undefined, true);
    const handOff = ending
      ? [this.#toHandOff(released, next, this.#toRemovals(ending), requests)]
      : [];
    const ops = [...puts, countOf(this.#keys.heldExclusive), ...front, ...handOff];
    const entering = this.#session.change(compare, ops, [], async () => {
      // They enter together; some may have been granted and stolen since.
      for await (const { found } of this.#findAll(requests)) {
        if (found !== undefined) return { isInDoubt: true, revision: found.revision };
      }
      wasInDoubt = true; // perhaps all were granted, and stolen
      return undefined;
    });
    // Each of both may still be possible without the other.
    const onRefusal = (/** @type {unknown} */ error) => {
      if (ending === undefined || !(error instanceof EtcdError)) throw error;
      for (const request of requests) this.#session.ids.retire(request);
      return { succeeded: false };
    };
    const entered = await this.#unlessRefused(requests, entering.catch(onRefusal));
    if (entered === undefined) return true;
    if (entered.succeeded === false) {
      for (const request of requests) this.#session.ids.free(request);
      return false;
    }
    this.#wait(requests, entered.revision);
    if (entered.isInDoubt) {
      for await (const { request, found } of this.#findAll(requests)) this.#update(request, found);
    } else if (isNextUnknown && this.#holder !== undefined) {
      const { revision, responses } = entered;
      const { heads } = this.#toFront({ revision, responses: responses.slice(puts.length + 1) });
      this.#keepHeads(heads);
    }
    if (ending !== undefined) {
      const { revision, responses = [] } = entered;
      const isHandedOff = responses.at(-1)?.response_txn.succeeded === true;
      const answers = wasInDoubt && !isHandedOff ? [] : responses.slice(puts.length + 1);
      await this.#onRemoved(ending, this.#onHandOff(next, { revision, answers }));
    } else if (entered.isInDoubt || numberIn(entered.responses[puts.length]) === 0) {
      await this.#serveIfPossible();
    }
    return true;
  }

  /** @param {EtcdRequest} request */
  async #enter(request) {
    this.#session.identify([request]);
    const entering = this.#session.entries.pass((leave) => this.#tryEnter(request, leave));
    const entered = await this.#unlessRefused([request], entering);
    if (entered === undefined) return;
    const { phase = HELD, revision, mustServe } = entered;
    if (phase === WAITING) {
      this.#wait([request], revision);
      if (mustServe) await this.#serveIfPossible();
    } else if (phase === HELD) {
      await this.#holdAfterOlder(request, revision);
    } else {
      this.#session.ids.free(request);
      request.phase = OVER;
      if (!request.isEnding) this.#host.onMissed(request.remote);
    }
  }

  /**
   * @template T
   * @param {EtcdRequest[]} requests  which fail if the cluster refuses them
   * @param {Promise<T>} entering
   * @returns {Promise<T | undefined>} undefined: they have failed
   */
  async #unlessRefused(requests, entering) {
    try {
      const entered = await entering;
      if (this.#session.isOver) throw new SessionLost();
      return entered;
    } catch (error) {
      if (this.#session.isOver || !(error instanceof EtcdError)) throw error;
      for (const request of requests) {
        this.#session.ids.retire(request); // perhaps the cluster has something of it
        request.phase = OVER;
        if (!request.isEnding) this.#host.onFailed(request.remote, error);
      }
      return undefined;
    }
  }

  /**
   * Takes the lock if no other request is in the way, otherwise a position in the queue.
   * @param {EtcdRequest} request
   * @param {() => void} onRefusal  others were faster: it tries again
   * @returns {Promise<Found>} OVER: it is not available
   */
  async #tryEnter(request, onRefusal) {
    if (request.steal) return this.#steal(request, onRefusal);
    const { maxPending, priority } = request;
    const mayQueue = maxPending > 0 && !isCounted(request) && !this.#isNameLong;
    const { heldExclusive, held, queue } = this.#keys;
    const mustBeEmpty =
      request.class === 's'
        ? [heldExclusive, ...this.#keys.queueExcept('s', priority)]
        : [held, queue];
    const overtakesNone = this.#keys.below(priority).map(isEmpty);
    const answer = await this.#session.change(
      mustBeEmpty.map(isEmpty),
      [this.#putHeld(request)],
      [nested(overtakesNone, mayQueue ? [this.#putQueue(request)] : []), countOf(heldExclusive)],
      () => this.#find(request),
    );
    // In doubt: perhaps it waits, and the lock was free before.
    if (answer.succeeded !== false) return { mustServe: true, ...answer };
    const mustRead = isCounted(request) || !answer.responses[0].response_txn.succeeded;
    if (mustRead || (maxPending > 0 && !mayQueue)) return this.#enterByReading(request, onRefusal);
    const mustServe = numberIn(answer.responses[1]) === 0;
    return { phase: mayQueue ? WAITING : OVER, revision: answer.revision, mustServe };
  }

  /**
   * Reads the queue and the holders first; then enters if nothing has changed in between.
   * @param {EtcdRequest} request
   * @param {() => void} onRefusal
   * @returns {Promise<Found>}
   */
  async #enterByReading(request, onRefusal) {
    const { heldExclusive, heldShared, queue } = this.#keys;
    const mayWait = request.maxPending === Infinity;
    for (let refusals = 0; ; refusals += 1) {
      const state = await this.#readState(request.priority);
      const { revision, holders, length, holder } = state;
      const isInMotion = mayWait && refusals >= MAX_REFUSALS;
      const isFree = !isInMotion && isGrantable(request, holders) && (await this.#isFirst(state));
      if (!isFree && length >= request.maxPending) return { phase: OVER, revision };
      const isQueueSame = areNoneSince(queue, revision);
      const areHoldersSame = request.class === 's' ? [] : [areNoneSince(heldShared, revision)];
      const compare = isFree
        ? [isEmpty(heldExclusive), ...areHoldersSame, isQueueSame]
        : mayWait
          ? []
          : [isQueueSame];
      const entry = await this.#toEntry(state);
      const op = isFree ? this.#putHeld(request) : this.#putQueue(request, entry.behind);
      const ops = [op, ...entry.ops, nested(holder, [])];
      const answer = await this.#changeOrder(entry, [compare, ops], () => this.#find(request));
      const { phase = isFree ? HELD : WAITING, succeeded, responses } = answer;
      if (succeeded === false) {
        onRefusal();
        continue;
      }
      // An exclusive holder that is still there serves the queue at its release.
      const isHeld = holder.length > 0 && responses?.at(-1).response_txn.succeeded === true;
      return { phase, revision: answer.revision, mustServe: !isHeld };
    }
  }

  /**
   * @param {number} priority  of a request that enters the queue
   * @returns {Promise<State>}
   */
  async #readState(priority) {
    const { held, overtakes, queue } = this.#keys;
    const { revision, responses } = await this.#session.read([
      ...[held, queue, ...this.#keys.below(priority)].map(countOf),
      get(overtakes),
    ]);
    const holders = this.#toHolders(responses[0]);
    const [first] = keyValuesOf(responses[0]);
    return {
      priority,
      revision,
      holders,
      holder: holders.exclusive > 0 ? [isCreatedAt(textOf(first.key), first.create_revision)] : [],
      length: numberIn(responses[1]),
      overtaken: sumOf(responses.slice(2, -1).map(numberIn)),
      log: new OvertakeLog(keyValuesOf(responses.at(-1))[0]),
    };
  }

  /**
   * Whether the request would overtake all that wait, if any.
   * @param {State} state
   */
  async #isFirst({ priority, length, overtaken, log }) {
    const behind = log.behind(priority);
    if (length > overtaken) return false;
    if (overtaken === 0 || behind.length === 0) return true;
    const { responses } = await this.#session.read(
      behind.map((_, lower) => getOldest(this.#keys.listOf(lower), 1)),
    );
    return requestsIn(responses, this.#bucket).every((it) => isBefore({ behind }, it));
  }

  /**
   * @param {State} state
   * @returns {Promise<{ behind: string[], compare: object[], ops: object[] }>} what a request that
   *   enters has to write and to compare for its priority
   */
  async #toEntry({ priority, overtaken, log }) {
    const { overtakes } = this.#keys;
    if (overtaken === 0) {
      return { behind: [], compare: this.#keys.below(priority).map(isEmpty), ops: [] };
    }
    const lease = await this.#session.lastingLease();
    return {
      behind: log.behind(priority),
      compare: [isChangedAt(overtakes, log.revision)],
      ops: [put(overtakes, log.with(priority), lease)],
    };
  }

  /**
   * The lease of the overtakes may have been revoked: the next attempt has a new one.
   * @param {{ compare: object[], ops: object[] }} entry  see #toEntry()
   * @param {[compare: object[], ops: object[], failure?: object[]]} change  ops: with the entry's
   * @param {() => Promise<any>} recover
   */
  async #changeOrder(entry, [compare, ops, failure = []], recover) {
    try {
      return await this.#session.change([...compare, ...entry.compare], ops, failure, recover);
    } catch (error) {
      const isRevoked = error instanceof EtcdError && error.isLeaseGone;
      if (!isRevoked || entry.ops.length === 0) throw error;
      return { succeeded: false };
    }
  }

  /**
   * @param {EtcdRequest} request
   * @param {number} priority
   */
  async #move(request, priority) {
    try {
      while (request.phase === WAITING && !request.isEnding && request.priority !== priority) {
        const { succeeded, revision, responses } = await this.#tryMove(request, priority);
        if (succeeded) await this.#onMoved(request, priority, revision);
        if (succeeded || responses === undefined) continue;
        const found = toFound(responses); // if it still waits, only the overtakes are others
        if (found?.phase === HELD) await this.#holdAfterOlder(request, found.revision);
        else this.#update(request, found);
      }
    } catch (error) {
      // If the cluster refuses the change, the request keeps its priority.
      if (!(error instanceof EtcdError) || this.#session.isOver) throw error;
    }
  }

  /**
   * @param {EtcdRequest} request
   * @param {number} priority
   * @returns {Promise<{ succeeded: boolean, revision: string, responses?: any[] }>}  if others were
   *   faster, with a read of its keys
   */
  async #tryMove(request, priority) {
    const entry = await this.#toEntry(await this.#readState(priority));
    const from = this.#queueKey(request);
    const to = this.#keys.queueKey(request.class, request.id, priority);
    const value = request.valueBehind(entry.behind, priority);
    // It is tried again if it is not there: perhaps it was granted.
    const recover = async () => {
      const { responses } = await this.#session.read([get(to)]);
      const [moved] = keyValuesOf(responses[0]);
      return moved && { succeeded: true, revision: moved.create_revision };
    };
    const isSame = [isCreatedAt(from, request.created)];
    const ops = [remove(from), put(to, value, this.#session.lease), ...entry.ops];
    return this.#changeOrder(entry, [isSame, ops, this.#readOwn(request)], recover);
  }

  /**
   * @param {EtcdRequest} request
   * @param {number} priority
   * @param {string} revision
   */
  async #onMoved(request, priority, revision) {
    this.#waiting[request.priority].delete(request);
    request.priority = priority;
    request.created = revision;
    this.#waiting[priority].add(request);
    this.#checkLater();
    await this.#serveIfPossible();
  }

  /**
   * Takes the lock from all holders, and notifies them: some at a time. If others are granted it
   * between each read and change, it goes to the front of the queue first: then no more are.
   * @param {EtcdRequest} request
   * @param {() => void} onRefusal
   * @returns {Promise<Found>}
   */
  async #steal(request, onRefusal) {
    const change = (/** @type {object[]} */ compare, /** @type {object[]} */ ops) =>
      this.#session.change(compare, ops, [], () => this.#find(request));
    const queued = this.#keys.queueKey('x', request.id, URGENT);
    const value = request.valueBehind([], URGENT);
    const bytesOf = () => 2 * this.#bytesOf(request);
    let refusals = 0;
    for (;;) {
      const { revision, holders } = await this.#readHolders();
      const own = holders.find(({ id }) => id === request.id);
      if (own !== undefined) return { phase: HELD, revision: own.token }; // granted from the queue
      const some = sliceWhile(holders, 0, () => true, bytesOf).slice(0, MAX_BATCH / 2);
      const isLast = some.length === holders.length;
      const ops = some.flatMap((holder) => this.#takeFrom(holder));
      if (isLast) ops.push(this.#putHeld(request), remove(queued));
      try {
        const answer = await change([areNoneSince(this.#keys.held, revision)], ops);
        if (isLast && answer.succeeded !== false) return answer;
        if (answer.succeeded !== false) continue;
        refusals += 1;
        onRefusal();
        if (refusals === MAX_REFUSALS) await change([], [put(queued, value, this.#session.lease)]);
      } catch (error) {
        // The session of a holder has ended.
        if (/** @type {EtcdError} */ (error).isLeaseGone) continue;
        // A key that stayed would keep the lock from all others for as long as the session lives.
        if (refusals >= MAX_REFUSALS) {
          await change([], [remove(queued)]).catch(() => this.#session.abandon());
        }
        throw error;
      }
    }
  }

  /** @returns {Promise<{ revision: string, holders: (RequestKey & { token: string })[] }>} */
  async #readHolders() {
    const { revision, responses } = await this.#session.read([getAll(this.#keys.held)]);
    const holders = keyValuesOf(responses[0]).map((/** @type {any} */ { key, ...it }) => ({
      .../** @type {RequestKey} */ (this.#bucket.parse(textOf(key))),
      token: it.create_revision,
    }));
    return { revision, holders };
  }

  /** @param {{ class: RequestClass, id: string, lease: string, token: string }} holder */
  #takeFrom(holder) {
    const { id, lease, token } = holder;
    const notice = JSON.stringify({ stolen: true, token });
    return [
      remove(this.#heldKey(holder)),
      put(this.#bucket.notification(id), notice, toLease(lease)),
    ];
  }

  #endAll = async (/** @type {End[]} */ ends) => {
    const bytesOf = (/** @type {End} */ { request }) => KEYS_OF_END * this.#bytesOf(request);
    for (const { request, why } of ends) if (!isOpen(request)) this.#finish(request, why, false);
    const open = ends.filter(({ request }) => isOpen(request));
    for (let i = 0; i < open.length;) {
      const { why } = open[i];
      const batch = sliceWhile(open, i, (it) => it.why === why, bytesOf).map((it) => it.request);
      i += batch.length;
      await this.#endTogether(batch, why, i === open.length);
    }
  };

  /**
   * @param {EtcdRequest[]} requests
   * @param {Why} why
   * @param {boolean} isLast  others do not follow at once
   */
  async #endTogether(requests, why, isLast) {
    const ending = toEnding(requests, why, isLast);
    await this.#onRemoved(ending, await this.#remove(ending));
  }

  /**
   * @param {Ending} ending
   * @param {Removal} removal
   */
  async #onRemoved({ open, why, held, mustServe }, { isHandedOff, revision, answers }) {
    if (answers.length === 0) await this.#findSteals(open);
    for (const [at, request] of open.entries()) {
      const isStolen = held.has(request) && answers[at]?.response_txn.succeeded === false;
      this.#finish(request, why, isStolen);
    }
    this.#checkLater();
    if (!mustServe || isHandedOff) return;
    const responses = answers.slice(open.length);
    await this.#serveIfPossible(responses.length > 0 ? { revision, responses } : undefined);
  }

  /**
   * @param {Ending} ending
   * @returns {Promise<Removal>}
   */
  async #remove(ending) {
    const { open, why } = ending;
    const { lease, leaseId } = this.#session;
    const words = [why, ...open.map(({ id }) => id)].join(' ');
    const extra = why === undefined ? [] : [put(this.#bucket.why(leaseId), words, lease)];
    const recover = async () => {
      for await (const { found } of this.#findAll(open)) {
        if (found !== undefined) return undefined; // all end, or none
      }
      return { responses: [] };
    };
    const change = async (/** @type {object[]} */ ops) => {
      const answer = await this.#session.change([], [...extra, ...ops], [], recover);
      return { revision: answer.revision, answers: answer.responses.slice(extra.length) };
    };
    const plain = this.#toRemovals(ending);
    const next = this.#heads.at(0);
    const isHandOff = next?.class === 'x' && open.length === 1 && open[0] === this.#holder;
    try {
      if (!isHandOff) return { isHandedOff: false, ...(await change(plain)) };
      return this.#onHandOff(next, await change([this.#toHandOff(open[0], next, plain)]));
    } catch (error) {
      if (!isWriteRefused(error)) throw error;
      extra.length = 0;
      return { isHandedOff: false, ...(await change(plain)) };
    }
  }

  /** Of requests that have ended, in doubt. @param {EtcdRequest[]} requests */
  async #findSteals(requests) {
    const held = requests.filter(({ phase }) => phase === HELD);
    if (held.length === 0) return;
    const { responses } = await this.#session.read(
      held.map(({ id }) => get(this.#bucket.notification(id))),
    );
    for (const [at, request] of held.entries()) {
      const [notice] = keyValuesOf(responses[at]);
      const { stolen, token } = JSON.parse(notice ? textOf(notice.value) : '{}');
      if (stolen && token === request.token) this.#lose(request);
    }
  }

  /** The operations that remove requests, and read the front. @param {Ending} ending */
  #toRemovals({ open, mustServe }) {
    const mustReadApart = this.#isQueueLong || this.#isNameLong;
    const front = mustServe && !mustReadApart ? this.#front() : [];
    return [...open.map((request) => this.#toRemoval(request)), ...front];
  }

  /** @param {EtcdRequest} request */
  #toRemoval(request) {
    const [held, queued] = [this.#heldKey(request), this.#queueKey(request)];
    return request.phase === HELD
      ? nested([isCreatedAt(held, request.token)], [remove(held)])
      : nested([isCreatedAt(queued, request.created)], [remove(queued)], [remove(held)]);
  }

  /**
   * @param {EtcdRequest} request  the exclusive holder
   * @param {Waiter} next
   * @param {object[]} otherwise  if the next request is gone, or was overtaken
   * @param {EtcdRequest[]} [entering]  with the same change
   */
  #toHandOff(request, next, otherwise, entering) {
    const isHeld = isCreatedAt(this.#heldKey(request), request.token);
    const { isNext, ops } = this.#toGrant(next, entering);
    return nested([isHeld, ...isNext], [remove(this.#heldKey(request)), ...ops], otherwise);
  }

  /**
   * @param {Waiter} next
   * @param {Omit<Removal, 'isHandedOff'>} removal  the answer to the hand-off
   * @returns {Removal}
   */
  #onHandOff(next, { revision, answers }) {
    if (answers.length === 0) {
      this.reread(); // perhaps the next one is of this session
      return { isHandedOff: false, revision, answers };
    }
    const { succeeded, responses } = answers[0].response_txn;
    if (!succeeded) return { isHandedOff: false, revision, answers: responses };
    const own = this.#ownOf(next);
    if (own !== undefined) this.#holdInOrder(own, revision);
    return { isHandedOff: true, revision, answers };
  }

  /**
   * @param {EtcdRequest} request  that holds and waits no more
   * @param {Why} why
   * @param {boolean} isStolen  found at its release
   */
  #finish(request, why, isStolen) {
    const { phase } = request;
    if (request.isStolen) return; // lose() has reported it
    if (isOpen(request)) this.#session.ids.free(request);
    this.#forget(request);
    const expired = phase === HELD && why === 'expired' ? 'expired' : undefined;
    const loss = isStolen ? 'stolen' : expired;
    if (why === 'expired' && !request.isEnding)
      this.#host.onLost(request.remote, loss ?? 'expired');
    else this.#host.onLeft(request.remote, loss);
  }

  /** @param {EtcdRequest} request */
  #forget(request) {
    this.#waiting[request.priority].delete(request);
    this.#held.delete(request);
    clearTimeout(request.holdTimer);
    if (this.#contention?.remove(request)) this.#contention = undefined;
    request.phase = OVER;
  }

  /**
   * @param {EtcdRequest[]} requests  have entered the queue
   * @param {string} revision
   */
  #wait(requests, revision) {
    if (this.#session.isOver) throw new SessionLost();
    for (const request of requests) {
      request.phase = WAITING;
      request.created = revision;
      const waiting = this.#waiting[request.priority].add(request);
      if (waiting.size === 1) this.#checkLater();
    }
    for (const request of requests) this.#host.onQueued(request.remote);
  }

  /**
   * @param {EtcdRequest} request
   * @param {string} revision
   */
  #hold(request, revision) {
    if (this.#session.isOver) throw new SessionLost();
    if (this.#waiting[request.priority].delete(request)) this.#checkLater();
    this.#loseTo(request, revision);
    this.#held.add(request);
    request.phase = HELD;
    request.token = revision;
    const rest = restBehind(request, this.#heads) ?? [];
    this.#heads = rest.length > 0 ? rest : request.followers;
    // Otherwise a step follows that releases.
    if (!request.isEnding) this.#host.onGranted(request.remote, revision);
    if (request.stolenToken === revision) this.#lose(request);
    else this.#limitHold(request);
  }

  /**
   * Older ones of its list may have been granted, and their notices be late: they come first.
   * @param {EtcdRequest} request
   * @param {string} revision
   */
  async #holdAfterOlder(request, revision) {
    await this.#readStates([this.#waiting[request.priority]]);
    if (request.phase !== HELD && request.phase !== OVER) this.#hold(request, revision);
  }

  /**
   * The older requests of this session with that priority have left the queue, too (E2). If another
   * session has granted them, and their notices are late, they come first: shared requests can be.
   * @param {EtcdRequest} request  that waits
   * @param {string} revision
   */
  #holdInOrder(request, revision) {
    const [first] = this.#waiting[request.priority];
    if (first === request) this.#hold(request, revision);
    else this.reread();
  }

  /** @param {EtcdRequest} request */
  #limitHold(request) {
    if (request.holdLimit === 0) return;
    request.holdTimer = setTimeout(() => {
      this.#steps.add(async () => {
        if (request.phase !== HELD || request.isEnding) return;
        request.isExpiring = true;
        await this.#endTogether([request], 'expired', true);
      });
    }, request.holdLimit);
  }

  /** The lock was stolen: the cluster has no key of it. @param {EtcdRequest} request */
  #lose(request) {
    if (request.phase === OVER) return;
    if (request.phase === WAITING) this.#checkLater();
    this.#session.ids.free(request);
    this.#forget(request);
    request.isStolen = true;
    if (request.isEnding) this.#host.onLeft(request.remote, 'stolen');
    else this.#host.onLost(request.remote, 'stolen');
  }

  /**
   * A grant that excludes locks of this session: they were stolen, and the notices come later. If
   * this session has not stolen them, a release under way may have come first.
   * @param {EtcdRequest} granted
   * @param {string} token
   */
  #loseTo(granted, token) {
    // Not each of many shared holders for each shared grant.
    const excluded = granted.class === 'x' ? [...this.#held] : [this.#holder];
    for (const request of excluded) {
      if (request === undefined) continue;
      const isOlder = BigInt(request.token) < BigInt(token);
      const isLeaving = request.isEnding || request.isExpiring;
      if (isOlder && (granted.steal || !isLeaving)) this.#lose(request);
    }
  }

  /**
   * @param {EtcdRequest} request
   * @param {Found | undefined} found
   */
  #update(request, found) {
    if (request.phase === OVER) return;
    if (found === undefined) return this.#lose(request); // if it waited, it was granted meanwhile
    if (found.phase === WAITING) request.created = found.revision;
    else if (request.phase === WAITING) this.#holdInOrder(request, found.revision);
  }

  /** The notice of a grant may have been faster than the answer. @param {Waiter[]} heads */
  #keepHeads(heads) {
    const holder = this.#holder;
    this.#heads = (holder && restBehind(holder, heads)) ?? heads;
  }

  /**
   * The operations that read the first of the queue, and the number of holders. The cluster sorts
   * all that wait for it: with more requests there, reads more at once.
   */
  #front() {
    const count = Math.min(Math.max(this.#waitingCount, this.#minHeads), MAX_HEADS);
    const lists = PRIORITIES.map((_, priority) => getOldest(this.#keys.listOf(priority), count));
    return [...lists, countOf(this.#keys.held)];
  }

  /**
   * Requests that entered together come in any order, and some of them may be cut off: if they are
   * the oldest, the next read is large enough for all of them.
   * @param {Answer} answer  to #front()
   * @returns {{ heads: Waiter[], isWhole: boolean, holders: State['holders'] }} heads: in order,
   *   without a gap; isWhole: these are all
   */
  #toFront({ revision, responses: [...queue] }) {
    const holders = this.#toHolders(queue.pop());
    this.#isQueueLong = sumOf(queue.map(numberIn)) > LONG_QUEUE;
    const isCut = queue.map(({ response_range: { more } }) => more);
    const lists = queue.map((response, priority) => {
      const heads = requestsIn([response], this.#bucket).map((it) => ({ ...it, readAt: revision }));
      const last = heads.at(-1)?.created;
      return isCut[priority] ? heads.filter(({ created }) => created !== last) : heads;
    });
    const isStuck = lists.some((heads, priority) => isCut[priority] && heads.length === 0);
    this.#minHeads = isStuck ? MAX_BATCH + 1 : MIN_HEADS;
    const heads = /** @type {Waiter[]} */ (merge(lists, isCut));
    const isWhole = !isCut.includes(true);
    const last = heads.at(-1);
    if (last !== undefined) last.isLast = isWhole;
    return { heads, isWhole, holders };
  }

  /**
   * Grants what can be granted, from the front of the queue on. A grant that cannot be made is
   * left to the waiters, which check, too (E6).
   * @param {Answer | undefined} front  the answer to #front(); undefined: reads it
   */
  async #serve(front) {
    const read = front ?? (await this.#session.read(this.#front()));
    const { holders, heads, isWhole } = this.#toFront(read);
    this.#keepHeads(heads);
    let countedAt = read.revision;
    let count = 0;
    while (count < Math.min(heads.length, MAX_BATCH)) {
      const head = heads[count];
      if (!isGrantable(head, holders)) return;
      const isShared = head.class === 's';
      const together = isShared ? sliceWhile(heads, count, (it) => it.class === 's') : [head];
      const grantedAt = await this.#grantAll(together, countedAt);
      if (grantedAt === undefined) break;
      holders[head.class === 'x' ? 'exclusive' : 'shared'] += together.length;
      if (head.class === 'l') countedAt = grantedAt;
      count += together.length;
    }
    // Ends that were asked for meanwhile have their turn first.
    if (count < heads.length || !isWhole)
      this.#steps.add(async () => void (await this.#serveIfPossible()));
  }

  /**
   * Grants shared requests: for one session one after the other, so that it receives them in order.
   * @param {Waiter[]} heads
   * @param {string} countedAt  when the holders were counted
   * @returns {Promise<string | undefined>} the revision of one of the grants; undefined: some could
   *   not be made
   */
  async #grantAll(heads, countedAt) {
    /** @type {Map<string, Promise<string | undefined>>} */
    const bySession = new Map();
    for (const head of heads) {
      const before = bySession.get(head.lease) ?? Promise.resolve(countedAt);
      const grant = before.then((made) => made && this.#grant(head, countedAt));
      bySession.set(head.lease, grant);
    }
    const results = await Promise.allSettled(bySession.values());
    for (const result of results) if (result.status === 'rejected') throw result.reason;
    const made = results.map((it) => (it.status === 'fulfilled' ? it.value : undefined));
    return made.includes(undefined) ? undefined : made[0];
  }

  /** @param {Waiter} waiter @returns {EtcdRequest | undefined} */
  #ownOf(waiter) {
    const own = this.#session.ids.find(waiter.id);
    return own?.phase === WAITING && isOf(waiter, own) ? own : undefined;
  }

  /**
   * @param {Waiter} head  the first of the queue (E3)
   * @param {string} countedAt  when the holders were counted
   * @returns {Promise<string | undefined>} the revision; undefined: it is not there any more, it is
   *   not the first, or the holders are others
   */
  async #grant(head, countedAt) {
    const { isNext, ops } = this.#toGrant(head);
    const { held, heldExclusive, heldShared } = this.#keys;
    const compare = [...isNext, isEmpty(head.class === 'x' ? held : heldExclusive)];
    if (head.class === 'l') compare.push(areNoneSince(heldShared, countedAt));
    const own = this.#ownOf(head);
    // No notice comes of a grant to its own session. A grant to another one is tried again.
    const recover = async () => {
      const found = own && (await this.#find(own));
      return found?.phase === HELD ? { succeeded: true, revision: found.revision } : undefined;
    };
    const { succeeded, revision } = await this.#session.change(compare, ops, [], recover);
    if (!succeeded) return undefined;
    if (own !== undefined) this.#holdInOrder(own, revision);
    return revision;
  }

  /**
   * The requests that follow one, for the notice of its grant: in their order, without a gap.
   * @param {Waiter} waiter  the first of the queue
   * @param {EtcdRequest[]} entering  behind all others, with the same change
   * @returns {{ readAt?: string, followers?: Follower[], entered?: Follower[] }}
   */
  #toFollowers(waiter, entering) {
    const at = this.#heads.indexOf(waiter);
    if (at < 0 || waiter.class !== 'x') return {};
    const known = this.#heads.slice(at + 1);
    const isWhole = (known.at(-1) ?? waiter).isLast === true;
    const added = entering.map((it) => toFollower(it, ENTERING, it.valueBehind()));
    const all = isWhole ? [...known, ...this.#toWaiters(added, null, ENTERING)] : known;
    let size = 0;
    const end = all.findIndex(({ value, stoppers }, i) => {
      size += value.length;
      return i === MAX_FOLLOWERS || size > MAX_FOLLOWERS_TEXT || stoppers.length > 0;
    });
    const named = all.slice(0, end < 0 ? undefined : end);
    const toFollowers = (/** @type {boolean} */ areEntered) =>
      named
        .filter(({ readAt }) => (readAt === null) === areEntered)
        .map((it) => toFollower(it, it.created, it.value));
    return {
      readAt: waiter.readAt ?? undefined,
      followers: toFollowers(false),
      entered: isWhole && end < 0 ? toFollowers(true) : undefined,
    };
  }

  /**
   * @param {Follower[]} followers
   * @param {string | null} readAt
   * @param {string} revision  of the notice
   * @returns {Waiter[]}
   */
  #toWaiters(followers, readAt, revision) {
    return followers.map(([requestClass, id, priority, created, value]) => {
      const key = this.#bucket.parse(this.#keys.queueKey(requestClass, id, priority));
      const request = toRequest(/** @type {RequestKey} */ (key), value);
      const at = created === ENTERING ? revision : created;
      return { ...request, created: at, value, readAt, stoppers: [] };
    });
  }

  /**
   * @param {Waiter} waiter
   * @param {EtcdRequest[]} [entering]  with the same change
   */
  #toGrant(waiter, entering = []) {
    const { id, class: it, priority, lease, created, value, readAt, stoppers } = waiter;
    const queued = this.#keys.queueKey(it, id, priority);
    const held = this.#keys.heldKey(it, id);
    const ops = [remove(queued), put(held, `${dateNow()} ${value}`, toLease(lease))];
    if (lease !== this.#session.leaseId) {
      // `heads`: for clients of earlier revisions
      const notice = { heads: [], granted: created, ...this.#toFollowers(waiter, entering) };
      ops.push(put(this.#bucket.notification(id), JSON.stringify(notice), toLease(lease)));
    }
    const above = this.#keys.above(priority);
    const isFirst =
      readAt === null
        ? [areNoneBefore(this.#keys.listOf(priority), created), ...above.map(isEmpty)]
        : above.map((range) => areNoneSince(range, readAt));
    const areStopped = stoppers.map((stopper) =>
      isCreatedAt(
        this.#keys.queueKey(stopper.class, stopper.id, stopper.priority),
        stopper.created,
      ),
    );
    return { isNext: [isCreatedAt(queued, created), ...isFirst, ...areStopped], ops };
  }

  /**
   * Serves the queue, if the session that should do it may have no room, or may have ended.
   * @param {Answer} [front]  see #serve()
   * @returns {Promise<boolean>} false: the cluster had no room; a check follows
   */
  async #serveIfPossible(front) {
    try {
      await this.#serve(front);
      return true;
    } catch (error) {
      if (!isWriteRefused(error)) throw error;
      this.#checkLater(NO_ROOM_MS * (0.5 + Math.random()));
      return false;
    }
  }

  /** @param {number} [ms] */
  #checkLater(ms = CHECK_AFTER_MS) {
    clearTimeout(this.#timer);
    if (this.#waitingCount === 0) return this.#unwatch();
    this.#timer = setTimeout(() => this.#steps.add(() => this.#check()), ms);
  }

  /**
   * Finds the blocker of the oldest request that waits with the highest priority, and watches for
   * its end (E6).
   */
  async #check() {
    const waiting = this.#waiting.findLast(({ size }) => size > 0);
    if (waiting === undefined) return;
    const [request] = waiting;
    const { blocker, front } = await this.#findBlocker(request);
    if (request.phase !== WAITING) return this.#checkLater();
    if (blocker !== undefined) {
      if (this.#watch?.key !== blocker.key) this.#watchFor(blocker);
    } else if ((await this.#serveIfPossible(front)) && waiting.has(request)) {
      this.#checkLater(SERVE_WITHIN_MS); // a steal may have been faster than the grant
    }
  }

  /**
   * The request ahead of it in its list, otherwise the holders, and all that wait if another list
   * has the first one.
   * @param {EtcdRequest} request  see #check()
   * @returns {Promise<{ blocker?: { key: string, end?: string, from: string }, front?: Answer }>}
   *   no blocker: the first of the queue may be grantable, or the request does not wait; from: the
   *   revision after the read; front: see #serve()
   */
  async #findBlocker(request) {
    const { base, held, queue } = this.#keys;
    const { created, priority } = request;
    const { revision, responses } = await this.#session.read([
      ...this.#readOwn(request),
      getNewestBefore(this.#keys.listOf(priority), created),
    ]);
    const found = toFound(responses.slice(0, 2));
    if (found?.phase !== WAITING) {
      this.#update(request, found);
      return {};
    }
    const [ahead] = keyValuesOf(responses[2]);
    if (ahead !== undefined)
      return { blocker: { key: textOf(ahead.key), from: following(revision) } };
    const front = await this.#session.read(this.#front());
    const { heads, holders } = this.#toFront(front);
    if (heads.length === 0 || isGrantable(heads[0], holders)) return { front };
    // Another list may have the first one, and it may leave.
    const isFirst = heads[0].priority === priority;
    const range = isFirst ? { key: held, end: endOf(held) } : { key: base, end: queue.end };
    return { blocker: { ...range, from: following(front.revision) } };
  }

  /** @param {{ key: string, end?: string, from: string }} blocker */
  #watchFor(blocker) {
    this.#unwatch();
    const { cancel } = this.#session.watches.add({
      ...blocker,
      only: 'removals',
      onEvents: () => this.#checkLater(SERVE_WITHIN_MS),
      onGap: () => this.#checkLater(0),
    });
    this.#watch = { key: blocker.key, cancel };
  }

  #unwatch() {
    this.#watch?.cancel();
    this.#watch = undefined;
  }
}

/**
 * @param {any[]} responses  of the held key and of the key in the queue
 * @returns {Found | undefined}
 */
function toFound(responses) {
  const [held, queued] = responses.map((response) => keyValuesOf(response)[0]);
  if (held !== undefined) return { phase: HELD, revision: held.create_revision };
  if (queued !== undefined) return { phase: WAITING, revision: queued.create_revision };
  return undefined;
}

/**
 * @param {any[]} responses  of ranges over a queue, and over the holders
 * @param {BucketKeys} bucket
 * @returns {StoredRequest[]} by age
 */
const requestsIn = (responses, bucket) =>
  responses
    .flatMap(keyValuesOf)
    .flatMap((it) => requestOf(it, bucket) ?? [])
    .sort(byAge);

/**
 * Whether a request in the queue waits for its own thread.
 * @param {Session} session
 * @param {BucketKeys} bucket
 * @param {EtcdRequest} request
 * @param {Set<string>} own  ids of the thread's other requests
 * @returns {Promise<boolean>}
 * @throws EtcdError, SessionLost (rejects)
 */
async function wouldSelfDeadlock(session, bucket, request, own) {
  const { held, queue } = bucket.ofName(request.name);
  const { responses } = await session.read([getAll(held), getAll(queue)]);
  const [holders, waiting] = responses.map((it) => requestsIn([it], bucket));
  const waiters = inOrder(waiting);
  const position = waiters.findIndex(({ id }) => id === request.id);
  if (position < 0 || request.phase !== WAITING) return false;
  const path = new WaitPath(toWaited(waiters[position]));
  return [...waiters.slice(0, position).reverse(), ...holders].some((it) =>
    path.isStoppedBy(toWaited(it), own.has(withNumber(it.id, it.number))),
  );
}

/** @param {StoredRequest} request @returns {import('../wait-path.js').Waited} */
const toWaited = ({ class: it, isHeld, limit }) => ({
  isQueued: !isHeld,
  request: { mode: it === 'x' ? 'exclusive' : 'shared', extras: { limit } },
});

module.exports = {
  EtcdRequest,
  HELD,
  NameLock,
  WAITING,
  toPriority,
  wouldSelfDeadlock,
};
