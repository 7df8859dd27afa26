'use strict';

const { setTimeout } = require('../../time.js');
const { EtcdError } = require('./etcd-errors.js');
const { HELD, NEW, OVER, WAITING } = require('./etcd-request.js');
const { fromGrantMail } = require('./grant-mail.js');
const { enterLock, followInQueue } = require('./lock-entry.js');
const { leaveQueue } = require('./lock-leave.js');
const { passLock } = require('./lock-pass.js');
const { releaseLock } = require('./lock-release.js');
const { NameAccess } = require('./name-access.js');
const { NameRequests } = require('./name-requests.js');
const { NOTHING, NextHeads } = require('./next-heads.js');
const { SessionLost } = require('./session-calls.js');
const { serveQueue } = require('./serve-queue.js');
const { StepQueue, sliceWhile, turnOfLoop } = require('./step-queue.js');
const { WaiterLook } = require('./waiter-look.js');

/** @typedef {import('./etcd-request.js').EtcdRequest} EtcdRequest */
/** @typedef {import('./keys.js').BucketKeys} BucketKeys */
/** @typedef {import('./lock-release.js').Released} Released */
/** @typedef {import('./queue-state.js').Waiter} Waiter */
/** @typedef {import('./session.js').Session} Session */
/** @typedef {import('../../../types/backend.d.ts').LockLossReason} LockLossReason */
/** @typedef {import('./etcd-request.js').RequestHost} RequestHost */
/** @typedef {import('./name-requests.js').Why} Why */
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
  #look;
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
    this.#look = new WaiterLook(
      this.#access,
      {
        first: () => this.#requests.first,
        lookAfter: () => host.lookAfter(),
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
  ask(request) {
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
   * @param {{ revision: string, value: string }} mail
   */
  onMail(request, { revision, value }) {
    const mail = JSON.parse(value);
    request.hasMail = true;
    if (mail.stolen) {
      // An earlier version does not name the lock: perhaps an earlier request with the id had it.
      const isSure = mail.token !== undefined;
      if (isSure) this.#requests.lose(request);
      this.#steps.add(() => (isSure ? this.#access.erase(request) : this.#reread(request)));
      return;
    }
    if (request.phase !== NEW && request.phase !== WAITING) return;
    this.#hold(request, revision, fromGrantMail(mail, revision));
  }

  /** Mail may have been missed: reads the state of each request. */
  reread() {
    this.#steps.add(async () => {
      for (const request of this.#requests.all) await this.#reread(request);
    });
    this.#look.schedule(0);
  }

  /** The session is over. */
  close() {
    this.#look.cancel();
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
        if (requests[i].isEnding) this.#session.ids.giveBack(requests[i]);
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
      // Its mail will report its outcome, or has done so already.
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
      if (request.phase !== WAITING) continue; // its mail came meanwhile
      const token = tokens[index];
      request.hasMail ||= token !== undefined;
      if (token === undefined) this.#requests.leave(request);
      else this.#requests.hold(request, token); // the grant was faster
    }
    this.#look.schedule();
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
    if (isFirst) this.#look.schedule();
  }

  /**
   * @param {EtcdRequest} request
   * @param {string} revision
   * @param {import('./next-heads.js').Expected} told
   */
  #hold(request, revision, { heads, knownAt }) {
    if (this.#session.isOver) throw new SessionLost();
    if (request.phase === HELD || request.phase === OVER) return;
    this.#requests.hold(request, revision);
    const isAll = knownAt !== undefined;
    const next = isAll ? heads : this.#access.order.after(request, heads);
    this.#next.expect({ heads: next, knownAt });
    this.#look.cancel();
    this.#look.schedule();
    if (request.hasMail && request.class === 'x' && next.length === 0 && !isAll) {
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
