'use strict';

const { HELD, OVER, WAITING } = require('./etcd-request.js');
const { LockChanges, MAX_NOTIFIED } = require('./lock-changes.js');
const { isGrantable, limitOf, numberIn, toFront, toWaiters } = require('./queue-state.js');
const { MAX_BATCH, MAX_BYTES, sliceWhile } = require('./step-queue.js');
const { getMadeAt, keyValuesOf, put, remove, textOf } = require('./transaction.js');

/** @typedef {import('./etcd-errors.js').EtcdError} EtcdError */
/** @typedef {import('./etcd-request.js').EtcdRequest} EtcdRequest */
/** @typedef {import('./keys.js').BucketKeys} BucketKeys */
/** @typedef {import('./lock-changes.js').Change} Change */
/** @typedef {import('./lock-changes.js').PreviousHolder} PreviousHolder */
/** @typedef {import('./name-queue.js').Why} Why */
/** @typedef {import('./queue-state.js').Front} Front */
/** @typedef {import('./queue-state.js').QueueState} QueueState */
/** @typedef {import('./queue-state.js').Waiter} Waiter */
/** @typedef {import('./session.js').Session} Session */

/** So many of those that follow a request are of use at once. */
const NEXT = 64;

/**
 * The front of a name's queue, as it was read last. Requests only leave, so it stays true except
 * for the requests that are gone: no request can have come in between. A read costs the more, the
 * longer the queue is, so one read serves many hand-offs.
 */
class KnownOrder {
  /** @type {Waiter[]} */
  #waiters = [];
  /** @type {Map<string, number>} places, by id: another request may have it meanwhile */
  #positions = new Map();

  /** @param {Waiter[]} waiters  the first of the queue, without a gap */
  learn(waiters) {
    this.#waiters = waiters;
    this.#positions = new Map(waiters.map(({ id }, position) => [id, position]));
  }

  /**
   * @param {{ id: string, created: string }} request
   * @param {Waiter[]} notified  those that follow it, as another session says
   * @returns {Waiter[]} those that follow it, as far as known
   */
  after(request, notified) {
    const position = this.#positionOf(request) ?? this.#waiters.length;
    const own = this.#waiters.slice(position + 1, position + 1 + NEXT);
    return own.length > notified.length ? own : notified;
  }

  /**
   * The requests that were before a request when the queue was read.
   * @param {{ id: string, created: string }} request  that waits
   * @returns {{ waiters: Waiter[], isAll: boolean }} isAll: there was nothing else before it
   */
  before(request) {
    const position = this.#positionOf(request);
    if (position !== undefined) return { waiters: this.#waiters.slice(0, position), isAll: true };
    const last = this.#waiters.at(-1);
    const isBehind = last !== undefined && BigInt(last.created) < BigInt(request.created);
    return { waiters: isBehind ? this.#waiters : [], isAll: false };
  }

  /** @param {{ id: string, created: string }} request */
  #positionOf({ id, created }) {
    const position = this.#positions.get(id);
    const isSame = position !== undefined && this.#waiters[position].created === created;
    return isSame ? position : undefined;
  }
}

/**
 * The state of a request: found if a change was in doubt. OVER: its lock was stolen.
 * @typedef {{ found: typeof HELD | typeof WAITING | typeof OVER, revision: string }} Found
 */

/** The lease, the comparisons, the frame. */
const MORE_BYTES = 200;

/** The lock of one name in the cluster, as a session reads and changes it. */
class NameAccess {
  #bucket;
  /** The queue's length when it was read last. */
  #length = 0;
  order = new KnownOrder();
  session;
  keys;
  changes;

  /**
   * @param {string} name
   * @param {Session} session
   * @param {BucketKeys} bucket
   */
  constructor(name, session, bucket) {
    this.session = session;
    this.#bucket = bucket;
    this.keys = bucket.ofName(name);
    this.changes = new LockChanges(bucket, this.keys);
  }

  get bucket() {
    return this.#bucket;
  }

  get length() {
    return this.#length;
  }

  /** The approximate size of a queue position in a transaction. @param {EtcdRequest} request */
  bytesOf = (request) =>
    this.changes.queueKey(request).length + Buffer.byteLength(request.value) + MORE_BYTES;

  /** @param {number} length  of the queue, as far as it was read */
  noteLength(length) {
    this.#length = length;
  }

  /**
   * @param {Change} change
   * @param {() => Promise<any>} recover  see Session.change()
   * @returns {Promise<any>}
   */
  change({ compare, success, failure }, recover) {
    return this.session.change(compare, success, failure, recover);
  }

  /**
   * A change that writes for another session, whose lease may be gone.
   * @param {Change} change
   * @param {() => Promise<any>} recover
   * @returns {Promise<any>} undefined: it is gone
   */
  async tryChange(change, recover) {
    try {
      return await this.change(change, recover);
    } catch (error) {
      if (/** @type {EtcdError} */ (error).isLeaseGone) return undefined;
      throw error;
    }
  }

  /**
   * Finds a request in the cluster.
   * @param {EtcdRequest} request
   * @returns {Promise<Found | undefined>} undefined: nowhere
   */
  async findOwn(request) {
    const { responses } = await this.session.read(this.changes.readOwn(request));
    const [held, queued, notification] = responses.map((response) => keyValuesOf(response)[0]);
    if (held !== undefined) {
      request.hasNotification = true; // perhaps
      return { found: HELD, revision: held.create_revision };
    }
    if (queued !== undefined) return { found: WAITING, revision: queued.create_revision };
    const notified = notification === undefined ? {} : JSON.parse(String(notification.value));
    const isStolen = notified.stolen && request.isMeant(notified, notification.mod_revision);
    return isStolen ? { found: OVER, revision: notification.mod_revision } : undefined;
  }

  /**
   * Removes everything of a stolen lock from the cluster, even if it was requested once more. If
   * one transaction cannot notify all previous holders, the last ones receive the loss later.
   * @param {EtcdRequest} request
   */
  async erase(request) {
    const { ids } = this.session;
    if (ids.find(request.id) !== request) return; // it was erased before
    await this.change(this.changes.erase(request), async () => undefined);
    ids.free(request);
  }

  /**
   * Notifies each separately, because the lease of any may be gone.
   * @param {PreviousHolder[]} previousHolders  of a steal that has been carried out
   */
  async notifySteals(previousHolders) {
    for (let i = 0; i < previousHolders.length; i += MAX_BATCH) {
      const notices = previousHolders.slice(i, i + MAX_BATCH).map((previousHolder) => {
        const success = [this.changes.stealNotice(previousHolder)];
        return this.tryChange({ compare: [], success, failure: [] }, async () => undefined);
      });
      await Promise.all(notices);
    }
  }

  /**
   * The changes that are made together with the end of a request.
   * @param {EtcdRequest} request
   * @param {string | undefined} why
   */
  extraOf(request, why) {
    const notification = request.hasNotification
      ? [remove(this.#bucket.notification(request.id))]
      : [];
    return [...notification, ...this.whyOf([request], why)];
  }

  /**
   * @param {EtcdRequest[]} requests
   * @param {string | undefined} why  they end
   */
  whyOf(requests, why) {
    if (why === undefined) return [];
    const { lease, leaseId } = this.session;
    const words = [why, ...requests.map(({ id }) => id)];
    return [put(this.#bucket.why(leaseId), words.join(' '), lease)];
  }

  /** @returns {Promise<QueueState & { revision: string }>} */
  async readState() {
    const { revision, responses } = await this.session.read(this.changes.readState(this.#length));
    return { revision, ...(await this.toState(responses)) };
  }

  /**
   * @param {any[]} responses  of what reads the state
   * @returns {Promise<QueueState>}
   */
  async toState(responses) {
    const [queue, exclusive, shared] = responses;
    const counts = { exclusive: numberIn(exclusive), shared: numberIn(shared) };
    return { ...(await this.#toFront(queue)), ...counts };
  }

  /** @returns {Promise<Front & { revision: string }>} */
  async readFront() {
    const { revision, responses } = await this.session.read([this.changes.readHeads(this.#length)]);
    return { revision, ...(await this.#toFront(responses[0])) };
  }

  /** @param {any} response @returns {Promise<Front>} */
  async #toFront(response) {
    const { undecided, ...front } = toFront(response, this.#bucket);
    this.#length = front.length;
    const heads = undecided === undefined ? front.heads : await this.#readMadeAt(undecided);
    this.order.learn(heads);
    return { ...front, heads };
  }

  /** @param {string} revision @returns {Promise<Waiter[]>} that took their places at that one */
  async #readMadeAt(revision) {
    const { responses } = await this.session.read([getMadeAt(this.keys.queue, revision)]);
    return toWaiters(keyValuesOf(responses[0]), this.#bucket);
  }

  /**
   * Grants the lock to the first of the queue.
   * @param {Waiter} head
   * @param {Waiter[]} rest
   * @returns {Promise<string | undefined>} the revision; undefined: it is not there any more
   */
  async grant(head, rest) {
    const change = this.changes.grant(head, rest, this.session.leaseId);
    // If the change is in doubt, the head is read again.
    const answer = await this.tryChange(change, async () => ({ succeeded: false }));
    return answer?.succeeded ? answer.revision : undefined;
  }

  /** @param {Waiter} waiter */
  isOwn({ id }) {
    return id.startsWith(this.session.leaseId);
  }
}

/**
 * The next requests after the exclusive holder, as far as they are known.
 * @typedef {object} Expected
 * @property {Waiter[]} heads  the first of the queue, without a gap: true, or outdated
 * @property {string | undefined} knownAt  a revision at which there were no others
 */

/** @type {Expected} */
const NOTHING = { heads: [], knownAt: undefined };

/** The requests that follow the exclusive holder. */
class NextHeads {
  #expected = NOTHING;
  /** @type {Promise<void> | undefined} */
  #fetching;

  /** @param {Expected} expected */
  expect(expected) {
    this.#expected = expected;
  }

  /**
   * Reads them while the lock is held.
   * @param {NameAccess} access
   */
  fetch(access) {
    const end = (/** @type {Expected} */ expected) => {
      this.#expected = expected;
      this.#fetching = undefined;
    };
    this.#fetching = access.readFront().then(
      (front) => end(toExpected(front, front.revision)),
      () => end(NOTHING), // the release finds out
    );
  }

  /** @returns {Promise<Expected>} */
  async take() {
    if (this.#fetching !== undefined) await this.#fetching;
    const expected = this.#expected;
    this.#expected = NOTHING;
    return expected;
  }
}

/**
 * @param {import('./queue-state.js').Front} front
 * @param {string} revision  at which it was read
 * @returns {Expected}
 */
const toExpected = ({ heads, isComplete }, revision) => ({
  heads,
  knownAt: isComplete ? revision : undefined,
});

/** How often a steal names the key of its name. */
const KEYS_OF_STEAL = 6;
/** The approximate size of the notice of a steal, beside its key. */
const NOTICE_BYTES = 100;

/**
 * @param {any} answer  of a change that takes the lock, or takes a place in the queue
 * @param {typeof WAITING | undefined} otherwise
 * @returns {Found | undefined}
 */
function toFound({ found, succeeded, revision }, otherwise) {
  const phase = found ?? (succeeded ? HELD : otherwise);
  return phase === undefined ? undefined : { found: phase, revision };
}

/**
 * Takes the lock, or a place in the queue.
 * @param {NameAccess} access
 * @param {EtcdRequest} request
 * @returns {Promise<Found | undefined>} undefined: refused
 */
async function enterLock(access, request) {
  if (request.steal) return stealLock(access, request);
  if (request.ifAvailable && request.class === 'l') return enterLimited(access, request);
  const change = access.changes.enter(request, access.session.lease);
  const answer = await access.change(change, () => access.findOwn(request));
  return toFound(answer, request.ifAvailable ? undefined : WAITING);
}

/**
 * An `ifAvailable` request with a limit: counts first, then takes a place if no request came in
 * between.
 * @param {NameAccess} access
 * @param {EtcdRequest} request
 * @returns {Promise<Found | undefined>}
 */
async function enterLimited(access, request) {
  for (;;) {
    const { exclusive, shared, length, revision } = await access.readState();
    if (length > 0 || exclusive > 0 || shared >= request.limit) return undefined;
    const change = access.changes.enterLimited(request, revision, access.session.lease);
    const answer = await access.change(change, () => access.findOwn(request));
    const found = toFound(answer, undefined);
    if (found !== undefined) return found;
  }
}

/**
 * @param {NameAccess} access
 * @param {EtcdRequest} request
 * @returns {Promise<Found>}
 */
async function stealLock(access, request) {
  const { bucket, changes, session } = access;
  const noticeBytes = bucket.notification(request.id).length + NOTICE_BYTES;
  const left = Math.max(0, MAX_BYTES - KEYS_OF_STEAL * access.bytesOf(request));
  const notified = Math.min(MAX_NOTIFIED, Math.floor(left / noticeBytes));
  for (;;) {
    const { revision, responses } = await session.read(changes.readHolders());
    const previousHolders = keyValuesOf(responses[0]).map((/** @type {any} */ { key, ...it }) => ({
      ...bucket.parse(textOf(key)),
      token: it.create_revision,
    }));
    const change = changes.steal(request, session.lease, previousHolders, { notified, revision });
    const answer = await access.tryChange(change, () => access.findOwn(request));
    const found = answer && toFound(answer, undefined);
    if (found === undefined) continue; // a request came, or a session died
    await session.complete(access.notifySteals(previousHolders.slice(notified)));
    return found;
  }
}

/**
 * Puts requests behind one of the same session's that waits.
 * @param {NameAccess} access
 * @param {EtcdRequest} first
 * @param {EtcdRequest[]} requests
 * @returns {Promise<Found | undefined>} of the first of them; undefined: that one waits no more
 */
async function followInQueue(access, first, requests) {
  const change = access.changes.follow(first, requests, access.session.lease);
  const answer = await access.change(change, () => access.findOwn(requests[0]));
  if (answer.found !== undefined) return answer;
  return answer.succeeded ? { found: WAITING, revision: answer.revision } : undefined;
}

/**
 * @typedef {object} Released
 * @property {boolean} isLost  it had been taken away before
 * @property {Waiter[]} heads  the first of which was next, if there was a waiter
 * @property {string | undefined} revision  of the grant to that one, where there was one
 * @property {boolean} mustServe  others may be grantable
 */

/**
 * Releases a lock, and in the same transaction grants it to the next request of the queue (E4).
 * @param {NameAccess} access
 * @param {EtcdRequest} request  held
 * @param {object[]} extra  what is changed with it
 * @param {Expected} expected
 * @returns {Promise<Released>}
 */
async function releaseLock(access, request, extra, expected) {
  let queue = expected;
  /** @type {QueueState | undefined} */
  let state;
  for (;;) {
    const { heads } = queue;
    const { change, isGiven } = toChange(access, request, extra, { ...queue, state });
    const answer = await tryRelease(access, request, change);
    if (answer === undefined) {
      const found = await access.readState(); // the next one has died
      state = found;
      queue = toExpected(found, found.revision);
    } else if (answer.isStolen) {
      return { ...releasedTo([]), isLost: true };
    } else if (answer.succeeded || answer.isUnknown) {
      return conclude(heads, answer, isGiven, state?.isComplete ?? false);
    } else {
      const responses = responsesOf(answer);
      if (responses === undefined) return releasedTo(heads); // the last holder hands it over
      if (keyValuesOf(responses[0]).length === 0) return { ...releasedTo([]), isLost: true };
      state = await access.toState(responses.slice(1));
      queue = toExpected(state, answer.revision);
    }
  }
}

/**
 * @param {NameAccess} access
 * @param {EtcdRequest} request
 * @param {object[]} extra
 * @param {Expected & { state: QueueState | undefined }} queue
 */
function toChange({ changes, session, length }, request, extra, { heads, knownAt, state }) {
  const [head, ...rest] = heads;
  if (head === undefined)
    return { change: changes.release(request, extra, length), isGiven: false };
  const isCounted = request.class !== 'x' && head.class === 'l';
  const hasRoom = !isCounted || /** @type {QueueState} */ (state).shared <= limitOf(head);
  const next = { head, rest, knownAt, ownId: session.leaseId, hasRoom };
  return { change: changes.handOver(request, extra, next, length), isGiven: hasRoom };
}

/**
 * @param {NameAccess} access
 * @param {EtcdRequest} request
 * @param {Change} change
 */
async function tryRelease(access, request, change) {
  const recover = async () => {
    const found = await access.findOwn(request);
    if (found?.found === OVER) return { isStolen: true };
    const isHeld = found?.found === HELD && found.revision === request.token;
    return isHeld ? undefined : { isUnknown: true };
  };
  try {
    return await access.tryChange(change, recover);
  } catch (error) {
    if (!(/** @type {EtcdError} */ (error).isFinal)) throw error;
    // The cluster has no room for the grant that goes with it, say: the waiters poll, too.
    const { isStolen } = await access.change(access.changes.drop(request), recover);
    return isStolen ? { isStolen } : { isUnknown: true };
  }
}

/**
 * The responses of a release that did not find its lock; a nested transaction may have them.
 * @param {any} answer
 * @returns {any[] | undefined} undefined: the lock was released
 */
function responsesOf({ responses }) {
  const inner = responses[0].response_txn;
  if (inner === undefined || inner === null) return responses;
  return inner.succeeded ? undefined : inner.responses;
}

/** @param {Waiter[]} heads @returns {Released} */
const releasedTo = (heads) => ({ isLost: false, heads, revision: undefined, mustServe: false });

/**
 * @param {Waiter[]} heads
 * @param {any} answer
 * @param {boolean} isGiven
 * @param {boolean} isComplete  there are no others
 * @returns {Released}
 */
function conclude(heads, { isUnknown, revision }, isGiven, isComplete) {
  if (isUnknown) return { ...releasedTo([]), mustServe: true };
  const [head, next] = heads;
  if (head === undefined) return releasedTo(heads);
  // After a shared request others may follow at once, also some that are not known yet.
  const mayFollow = next === undefined ? !isComplete : next.class !== 'x';
  return {
    isLost: false,
    heads,
    revision: isGiven ? revision : undefined,
    mustServe: head.class !== 'x' && mayFollow,
  };
}

/**
 * @typedef {object} Passed  the followers have entered
 * @property {string} revision  at which they did
 * @property {boolean} isInDoubt  where each of them stands is to be read
 * @property {Released | undefined} released  undefined: the lock is held as before
 * @property {Expected} next  in that case
 */

/**
 * Puts requests into the queue, and in the same transaction hands over the lock that their session
 * holds: so a release does not wait for what was asked for just before it.
 * @param {NameAccess} access
 * @param {{ request: EtcdRequest, why: Why }} end  of the exclusive holder
 * @param {EtcdRequest[]} followers
 * @param {Expected} expected
 * @returns {Promise<Passed | undefined>} undefined: nothing was changed
 */
async function passLock(access, { request, why }, followers, expected) {
  const extra = access.extraOf(request, why);
  const change = access.changes.pass(request, followers, extra, {
    ...expected,
    lease: access.session.lease,
    ownId: access.session.leaseId,
    length: access.length,
  });
  const answer = await tryPass(access, change, () => findPassed(access, request, followers[0]));
  if (answer === undefined || 'passed' in answer) return answer?.passed;
  return answer.succeeded ? toPassed(access, followers, expected, answer) : undefined;
}

/**
 * @param {NameAccess} access
 * @param {import('./lock-changes.js').Change} change
 * @param {() => Promise<any>} recover
 * @returns {Promise<any>} undefined: one after the other they may succeed, or say why they do not
 */
async function tryPass(access, change, recover) {
  try {
    return await access.tryChange(change, recover);
  } catch (error) {
    if (!(/** @type {EtcdError} */ (error).isFinal)) throw error;
    return undefined;
  }
}

/**
 * @param {NameAccess} access
 * @param {EtcdRequest[]} followers
 * @param {Expected} expected
 * @param {any} answer
 * @returns {Promise<Passed>}
 */
async function toPassed(access, followers, expected, { revision, responses }) {
  const { succeeded, responses: inner } = responses[0].response_txn;
  const entered = { revision, isInDoubt: false, released: undefined, next: NOTHING };
  if (!succeeded) {
    const state = await access.toState(inner.slice(followers.length));
    return { ...entered, next: toExpected(state, revision) };
  }
  const toWaiter = (/** @type {EtcdRequest} */ { id, class: it, value }) => ({
    ...{ id, class: it, value },
    created: revision,
  });
  const isFirst = expected.heads.length === 0;
  const heads = isFirst ? followers.map(toWaiter) : expected.heads;
  const released = conclude(heads, { revision }, true, isFirst);
  return { ...entered, released };
}

/**
 * @param {NameAccess} access
 * @param {EtcdRequest} request
 * @param {EtcdRequest} first  of the followers
 * @returns {Promise<{ passed: Passed | undefined } | undefined>} undefined: it was not made
 */
async function findPassed(access, request, first) {
  const own = await access.findOwn(request);
  const isHeld = own?.found === HELD && own.revision === request.token;
  const entered = await access.findOwn(first);
  // Unless it is held as before, it had been stolen before.
  if (entered === undefined) return isHeld ? undefined : { passed: undefined };
  const released = { isLost: own?.found === OVER, heads: [], revision: undefined, mustServe: true };
  const { revision } = entered;
  const passed = {
    revision,
    isInDoubt: true,
    released: isHeld ? undefined : released,
    next: NOTHING,
  };
  return { passed };
}

/** How often a leave names the key of its name. */
const KEYS_OF_LEAVE = 3;

/**
 * @typedef {object} Left
 * @property {(string | undefined)[]} tokens  of those whose grants were faster: they hold the lock
 * @property {boolean} mustServe  the queue, because no exclusive holder will
 */

/**
 * There is a queue, and no exclusive holder.
 * @param {any} response
 */
function isUnserved({ response_txn: { succeeded, responses } }) {
  return succeeded && keyValuesOf(responses[0]).length > 0;
}

/** @param {any} response  to the leave of one request */
function tokenOf({ response_txn: { succeeded, responses } }) {
  return succeeded ? undefined : keyValuesOf(responses[0])[0]?.create_revision;
}

/**
 * Takes requests out of the queue, as many in one transaction as etcd takes. If a grant was faster,
 * the grant counts (E5).
 * @param {NameAccess} access
 * @param {EtcdRequest[]} requests  waiting
 * @param {string | undefined} why  shown to those who watch
 * @returns {Promise<Left>}
 */
async function leaveQueue(access, requests, why) {
  /** @type {Left} */
  const left = { tokens: [], mustServe: false };
  const bytesOf = (/** @type {EtcdRequest} */ it) => KEYS_OF_LEAVE * access.bytesOf(it);
  while (left.tokens.length < requests.length) {
    const batch = sliceWhile(requests, left.tokens.length, () => true, bytesOf);
    const some = await leaveTogether(access, batch, why);
    left.tokens.push(...some.tokens);
    left.mustServe ||= some.mustServe;
  }
  return left;
}

/**
 * @param {NameAccess} access
 * @param {EtcdRequest[]} requests  waiting
 * @param {string | undefined} why
 * @returns {Promise<Left>}
 */
async function leaveTogether(access, requests, why) {
  const leave = (/** @type {object[]} */ extra) =>
    access.change(access.changes.leave(requests, extra), () => findLeft(access, requests));
  const answer = await leave(access.whyOf(requests, why)).catch((error) => {
    if (!(/** @type {import('./etcd-errors.js').EtcdError} */ (error).isForSpace)) throw error;
    return leave([]); // the cluster has no room for the reason
  });
  if (answer.tokens !== undefined) return answer;
  const { responses } = answer;
  return {
    tokens: requests.map((_, index) => tokenOf(responses[index])),
    mustServe: requests.some(({ class: it }) => it !== 's') && isUnserved(responses.at(-1)),
  };
}

/**
 * @param {NameAccess} access
 * @param {EtcdRequest[]} requests
 * @returns {Promise<Left | undefined>} undefined: they have not left
 */
async function findLeft(access, requests) {
  const tokens = [];
  for (const request of requests) {
    const found = await access.findOwn(request);
    if (found?.found === WAITING) return undefined; // all leave together, or none
    tokens.push(found?.revision);
  }
  return { tokens, mustServe: true };
}

/**
 * Grants what can be granted, from the front of the queue on. If the cluster has no room for a
 * grant, the waiters poll, again and again (E6).
 * @param {NameAccess} access
 * @param {(head: Waiter, rest: Waiter[]) => Promise<boolean>} grant  false: it is gone
 */
async function serveQueue(access, grant) {
  try {
    await serveAll(access, grant);
  } catch (error) {
    if (!(/** @type {EtcdError} */ (error).isForSpace)) throw error;
  }
}

/**
 * @param {NameAccess} access
 * @param {(head: Waiter, rest: Waiter[]) => Promise<boolean>} grant
 */
async function serveAll(access, grant) {
  for (;;) {
    const { heads, exclusive, shared } = await access.readState();
    if (heads.length === 0) return;
    const holders = { exclusive, shared };
    for (const [index, head] of heads.entries()) {
      if (!isGrantable(head, holders)) return;
      if (!(await grant(head, heads.slice(index + 1)))) break;
      holders[head.class === 'x' ? 'exclusive' : 'shared'] += 1;
    }
  }
}

module.exports = {
  KnownOrder,
  NameAccess,
  NOTHING,
  NextHeads,
  enterLock,
  followInQueue,
  leaveQueue,
  passLock,
  releaseLock,
  serveQueue,
};
