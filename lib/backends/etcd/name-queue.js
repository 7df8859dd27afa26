'use strict';

const { clearTimeout, performance, setTimeout } = require('../../time.js');
const { HELD, NEW, OVER, WAITING } = require('./etcd-request.js');
const { EtcdError } = require('./etcd-errors.js');
const { fromGrantNotification } = require('./lock-changes.js');
const {
  enterLock,
  followInQueue,
  leaveQueue,
  NameAccess,
  NextHeads,
  NOTHING,
  passLock,
  releaseLock,
  serveQueue,
} = require('./name-lock.js');
const { SessionLost } = require('../remote/lock-session.js');
const { sliceWhile, StepQueue, turnOfLoop } = require('./step-queue.js');
const { WaiterCheck } = require('./blocker.js');

/** @typedef {import('./etcd-request.js').EtcdRequest} EtcdRequest */
/** @typedef {import('./etcd-request.js').RequestHost} RequestHost */
/** @typedef {import('./keys.js').BucketKeys} BucketKeys */
/** @typedef {import('./name-lock.js').Released} Released */
/** @typedef {import('./queue-state.js').Waiter} Waiter */
/** @typedef {import('./session.js').Session} Session */
/** @typedef {import('../../../types/backend.d.ts').LockLossReason} LockLossReason */

/** @typedef {'timedout' | 'expired' | undefined} Why  a request ends */

/** The requests of one session for one name, and the reports about them to their agent. */
class NameRequests {
  #host;
  #ids;
  /** @type {Set<EtcdRequest>} in the queue, oldest first */
  #waiting = new Set();
  /** @type {Set<EtcdRequest>} */
  #held = new Set();

  /**
   * @param {RequestHost} host
   * @param {import('./session.js').RequestIds} ids
   */
  constructor(host, ids) {
    this.#host = host;
    this.#ids = ids;
  }

  get isHeld() {
    return this.#held.size > 0;
  }

  get isEmpty() {
    return this.#waiting.size + this.#held.size === 0;
  }

  /** @returns {EtcdRequest | undefined} the oldest that waits */
  get first() {
    return this.#waiting.values().next().value;
  }

  /** @returns {EtcdRequest | undefined} that holds the lock for itself */
  get holder() {
    const [held] = this.#held;
    return held?.class === 'x' ? held : undefined;
  }

  get all() {
    return [...this.#waiting, ...this.#held];
  }

  /** @param {string} id */
  findWaiting(id) {
    for (const request of this.#waiting) if (request.id === id) return request;
    return undefined;
  }

  /**
   * @param {EtcdRequest[]} requests  have their places in the queue
   * @param {string} revision
   */
  wait(requests, revision) {
    for (const request of requests) {
      if (request.phase !== NEW) continue; // its notification was faster
      request.phase = WAITING;
      request.created = revision;
      request.waitsFrom = performance.now();
      this.#waiting.add(request);
    }
    for (const request of requests) this.#host.onQueued(request);
  }

  /**
   * Grants it: its agent has to be notified.
   * @param {EtcdRequest} request
   * @param {string} revision
   */
  hold(request, revision) {
    if (this.#waiting.delete(request)) this.#host.onWaited(performance.now() - request.waitsFrom);
    this.#held.add(request);
    request.hold(revision);
  }

  /** @param {EtcdRequest} request  waiting, that has left the queue */
  leave(request) {
    this.#ids.free(request);
    this.#waiting.delete(request);
    request.phase = OVER;
  }

  /** It is to be erased: its id is still in use. @param {EtcdRequest} request */
  lose(request) {
    if (request.phase === OVER) return;
    const wasNotified = request.phase === HELD;
    this.#forget(request);
    request.loss = 'stolen';
    if (request.isEnding) return this.#host.onEnded(request); // before the stealer's grant
    if (!wasNotified) this.#host.onGranted(request);
    this.#host.onLost(request, 'stolen');
  }

  /**
   * A steal by this session, which has removed them: the previous holders may be notified later.
   * @param {string} token
   */
  loseTo(token) {
    for (const held of this.#held) {
      if (BigInt(held.token) >= BigInt(token)) continue;
      this.#ids.free(held);
      this.lose(held);
    }
  }

  /** @param {EtcdRequest} request */
  miss(request) {
    this.#ids.free(request);
    request.phase = OVER;
    if (!request.isEnding) this.#host.onMissed(request);
  }

  /**
   * Perhaps the cluster has something of it.
   * @param {EtcdRequest} request
   * @param {unknown} error
   */
  fail(request, error) {
    this.#ids.retire(request);
    request.phase = OVER;
    if (!request.isEnding) this.#host.onFailed(request, error);
  }

  /**
   * It has been released, or waits no more.
   * @param {EtcdRequest} request
   * @param {Why} why
   * @param {LockLossReason | undefined} loss  found at its release
   */
  finish(request, why, loss) {
    if (request.phase === OVER && request.loss === 'stolen') return; // lose() has ended it
    // A request that is over has returned its id before, or is to be erased.
    if (request.phase !== OVER) this.#ids.free(request);
    if (request.phase === HELD) request.loss = loss ?? (why === 'expired' ? why : undefined);
    this.#forget(request);
    if (why === 'expired' && !request.isEnding)
      this.#host.onLost(request, request.loss ?? 'expired');
    else this.#host.onEnded(request);
  }

  /** The session is over. */
  close() {
    for (const { holdTimer } of this.#held) clearTimeout(holdTimer);
  }

  /** @param {EtcdRequest} request */
  #forget(request) {
    this.#waiting.delete(request);
    this.#held.delete(request);
    clearTimeout(request.holdTimer);
    request.phase = OVER;
  }
}

/** @typedef {{ request: EtcdRequest, why: Why }} End */

/**
 * The requests of one session for one name. Its steps run one after the other, so that the cluster
 * sees the requests in order.
 */
class NameQueue {
  #access;
  #session;
  #host;
  #steps;
  #check;
  #requests;
  #next = new NextHeads();

  /**
   * @param {string} name
   * @param {Session} session
   * @param {BucketKeys} bucket
   * @param {RequestHost} host
   */
  constructor(name, session, bucket, host) {
    this.name = name;
    this.#session = session;
    this.#access = new NameAccess(name, session, bucket);
    this.#host = host;
    this.#requests = new NameRequests(host, session.ids);
    this.#steps = new StepQueue(
      (error) => this.#onError(error),
      () => this.#onIdle(),
    );
    this.#check = new WaiterCheck(
      this.#access,
      {
        first: () => this.#requests.first,
        checkAfterMs: () => host.checkAfterMs(),
        grant: (request) => this.#grant(request, []),
        reread: (request) => this.#reread(request),
      },
      (step) => this.#steps.add(step),
    );
  }

  get isHeld() {
    return this.#requests.isHeld;
  }

  /** @param {EtcdRequest} request */
  enqueue(request) {
    const mayPass = !this.#steps.isRunning && this.#requests.holder !== undefined;
    if (mayPass) this.#steps.add(turnOfLoop); // the release may come right after it
    this.#steps.addTo(this.#enterAll, request);
  }

  /**
   * Releases a lock, or a place in the queue.
   * @param {EtcdRequest} request
   * @param {Why} why  shown to those who watch
   */
  end(request, why) {
    request.isEnding = true;
    this.#steps.addTo(this.#endAll, { request, why });
  }

  /**
   * After everything that was asked for before.
   * @template T
   * @param {() => Promise<T>} action
   * @returns {Promise<T>}
   */
  after(action) {
    return new Promise((resolve, reject) => {
      this.#steps.add(() => action().then(resolve, reject));
    });
  }

  /** @returns {Promise<{ exclusive: number, shared: number }>} holders */
  countHolders() {
    return this.after(() => this.#access.readState());
  }

  /**
   * @param {EtcdRequest} request
   * @param {{ revision: string, value: string }} notification
   */
  onNotification(request, { revision, value }) {
    const notification = JSON.parse(value);
    request.hasNotification = true;
    if (notification.stolen) {
      // An earlier version does not name the lock: perhaps an earlier request with the id had it.
      const isSure = notification.token !== undefined;
      if (isSure) this.#requests.lose(request);
      this.#steps.add(() => (isSure ? this.#access.erase(request) : this.#reread(request)));
      return;
    }
    if (request.phase !== NEW && request.phase !== WAITING) return;
    this.#hold(request, revision, fromGrantNotification(notification, revision));
  }

  /** Notifications may have been missed: reads the state of each request. */
  reread() {
    this.#steps.add(async () => {
      for (const request of this.#requests.all) await this.#reread(request);
    });
    this.#check.schedule(0);
  }

  /** The session is over. */
  close() {
    this.#check.cancel();
    this.#requests.close();
  }

  #onIdle() {
    if (!this.#requests.isEmpty) return;
    this.close();
    this.#host.onIdle(this);
  }

  /** @param {unknown} error */
  #onError(error) {
    if (error instanceof SessionLost) return; // the session notifies all its queues
    if (!(error instanceof EtcdError)) throw error;
    this.#session.abandon();
  }

  #enterAll = async (/** @type {EtcdRequest[]} */ requests) => {
    this.#session.identify(requests);
    for (let i = 0; i < requests.length;) {
      if (await this.#pass(requests, i)) return;
      const { first } = this.#requests;
      if (first === undefined || !mayFollow(requests[i])) {
        // If the request has been ended, the end is a step that follows.
        if (requests[i].isEnding) this.#session.ids.free(requests[i]);
        else await this.#enter(requests[i]);
        i += 1;
        continue;
      }
      const batch = sliceWhile(requests, i, mayFollow, this.#access.bytesOf);
      if (await this.#follow(first, batch)) i += batch.length;
    }
  };

  /**
   * Enters the last ones together with a release that comes next.
   * @param {EtcdRequest[]} requests
   * @param {number} start
   * @returns {Promise<boolean>} false: they have not entered
   */
  async #pass(requests, start) {
    const { holder } = this.#requests;
    const end = this.#steps.peek(this.#endAll);
    const followers = sliceWhile(requests, start, mayFollow, this.#access.bytesOf);
    const areLast = start + followers.length === requests.length;
    if (holder === undefined || end?.request !== holder || !areLast) return false;
    const expected = await this.#next.take();
    const passed = await passLock(this.#access, end, followers, expected);
    if (passed === undefined) return false;
    this.#wait(followers, passed.revision);
    if (passed.isInDoubt) for (const request of followers) await this.#reread(request);
    if (passed.released === undefined) {
      this.#next.expect(passed.next);
    } else {
      this.#steps.skip();
      this.#requests.finish(holder, end.why, this.#onReleased(holder, passed.released));
    }
    return true;
  }

  /** @param {EtcdRequest} request */
  async #enter(request) {
    const entering = this.#session.entries.pass(enterLock(this.#access, request));
    const entered = await this.#unlessRefused([request], entering);
    if (entered === null) return;
    if (entered === undefined) this.#requests.miss(request);
    else if (entered.found === HELD) {
      if (request.steal) this.#requests.loseTo(entered.revision);
      this.#hold(request, entered.revision, NOTHING);
    } else if (entered.found === WAITING) this.#wait([request], entered.revision);
    else await this.#onStolen(request);
    // Whether a limit leaves room is found by counting: no transaction can.
    if (request.phase === WAITING && request.class === 'l') await this.#serve();
  }

  /**
   * @param {EtcdRequest} first
   * @param {EtcdRequest[]} requests
   * @returns {Promise<boolean>} false: the first waits no more
   */
  async #follow(first, requests) {
    const entering = followInQueue(this.#access, first, requests);
    const entered = await this.#unlessRefused(requests, entering);
    if (entered === null) return true;
    if (entered === undefined) {
      // Its notification will report its outcome, or has done so already.
      if (first.phase === WAITING) await this.#reread(first);
      return false;
    }
    this.#wait(requests, entered.revision);
    if (entered.found !== WAITING) for (const request of requests) await this.#reread(request);
    return true;
  }

  #endAll = async (/** @type {End[]} */ ends) => {
    for (let i = 0; i < ends.length;) {
      const { request, why } = ends[i];
      const leaving = sliceWhile(ends, i, (it) => it.why === why && it.request.phase === WAITING);
      const batch = leaving.length === 0 ? [request] : leaving.map((end) => end.request);
      if (leaving.length > 0) await this.#leave(batch, why);
      for (const left of batch) await this.#end(left, why);
      i += batch.length;
    }
  };

  /**
   * @param {EtcdRequest} request  that waits no more
   * @param {Why} why
   */
  async #end(request, why) {
    const loss = request.phase === HELD ? await this.#release(request, why) : undefined;
    this.#requests.finish(request, why, loss);
  }

  /**
   * @param {EtcdRequest[]} requests  waiting
   * @param {Why} why
   */
  async #leave(requests, why) {
    const { tokens, mustServe } = await leaveQueue(this.#access, requests, why);
    for (const [index, request] of requests.entries()) {
      if (request.phase !== WAITING) continue; // its notification came meanwhile
      const token = tokens[index];
      request.hasNotification ||= token !== undefined;
      if (token === undefined) this.#requests.leave(request);
      else this.#requests.hold(request, token); // the grant was faster
    }
    this.#check.schedule();
    if (mustServe) await this.#serve();
  }

  /**
   * @param {EtcdRequest} request  held
   * @param {string | undefined} why
   * @returns {Promise<LockLossReason | undefined>} how it had been lost
   */
  async #release(request, why) {
    const expected = request.class === 'x' ? await this.#next.take() : NOTHING;
    const extra = this.#access.extraOf(request, why);
    const released = await releaseLock(this.#access, request, extra, expected);
    return this.#onReleased(request, released);
  }

  /**
   * @param {EtcdRequest} request
   * @param {Released} released
   * @returns {LockLossReason | undefined} how it had been lost
   */
  #onReleased(request, { isLost, heads, revision, mustServe }) {
    if (mustServe) this.#steps.add(() => this.#serve());
    if (isLost) return request.loss ?? 'stolen';
    const [head, ...rest] = heads;
    if (revision !== undefined && this.#access.isOwn(head)) this.#grantOwn(head, revision, rest);
    return undefined;
  }

  #serve() {
    return serveQueue(this.#access, (head, rest) => this.#grant(head, rest));
  }

  /**
   * @param {Waiter} head
   * @param {Waiter[]} rest
   * @returns {Promise<boolean>}
   */
  async #grant(head, rest) {
    const revision = await this.#access.grant(head, rest);
    if (revision === undefined) return false;
    if (this.#access.isOwn(head)) this.#grantOwn(head, revision, rest);
    return true;
  }

  /**
   * @param {Waiter} head
   * @param {string} revision
   * @param {Waiter[]} rest
   */
  #grantOwn(head, revision, rest) {
    const request = this.#requests.findWaiting(head.id);
    if (request !== undefined) this.#hold(request, revision, { heads: rest, knownAt: undefined });
  }

  /**
   * @param {EtcdRequest[]} requests
   * @param {string} revision
   */
  #wait(requests, revision) {
    if (this.#session.isOver) throw new SessionLost();
    const isFirst = this.#requests.first === undefined;
    this.#requests.wait(requests, revision);
    if (isFirst) this.#check.schedule();
  }

  /**
   * @param {EtcdRequest} request
   * @param {string} revision
   * @param {import('./name-lock.js').Expected} expected
   */
  #hold(request, revision, { heads, knownAt }) {
    if (this.#session.isOver) throw new SessionLost();
    if (request.phase === HELD || request.phase === OVER) return;
    this.#requests.hold(request, revision);
    const isAll = knownAt !== undefined;
    const next = isAll ? heads : this.#access.order.after(request, heads);
    this.#next.expect({ heads: next, knownAt });
    this.#check.cancel();
    this.#check.schedule();
    if (request.hasNotification && request.class === 'x' && next.length === 0 && !isAll) {
      this.#next.fetch(this.#access);
    }
    if (request.isEnding) return; // a step that follows gives it back
    this.#limitHold(request);
    this.#host.onGranted(request);
  }

  /** @param {EtcdRequest} request */
  #limitHold(request) {
    if (request.holdLimit === 0) return;
    request.holdTimer = setTimeout(() => {
      this.#steps.add(async () => {
        if (request.phase === HELD && !request.isEnding) await this.#end(request, 'expired');
      });
    }, request.holdLimit);
  }

  /**
   * @template T
   * @param {EtcdRequest[]} requests  which fail where the cluster refuses them
   * @param {Promise<T>} entering  may be held up until after the end of the session
   * @returns {Promise<T | null>} null: they have failed
   */
  async #unlessRefused(requests, entering) {
    try {
      const entered = await entering;
      if (this.#session.isOver) throw new SessionLost();
      return entered;
    } catch (error) {
      if (this.#session.isOver) throw new SessionLost();
      for (const request of requests) this.#requests.fail(request, error);
      return null;
    }
  }

  /** @param {EtcdRequest} request */
  async #onStolen(request) {
    this.#requests.lose(request);
    await this.#access.erase(request);
  }

  /** @param {EtcdRequest} request */
  async #reread(request) {
    const found = await this.#access.findOwn(request);
    if (found?.found === HELD) {
      if (request.phase === WAITING) this.#hold(request, found.revision, NOTHING);
    } else if (found?.found === WAITING) {
      request.created = found.revision;
    } else if (request.phase !== OVER) await this.#onStolen(request);
  }
}

/** @param {EtcdRequest} request */
const mayFollow = ({ steal, ifAvailable, isEnding }) => !steal && !ifAvailable && !isEnding;

module.exports = { NameQueue };
