'use strict';

const { ofName } = require('./lock-agent.js');

let lastKey = 0;

/** A name or key that nothing else in this test file uses. */
const unique = (prefix) => `${prefix} ${++lastKey}`;

function deferred() {
  let resolve;
  const promise = new Promise((resolveIt) => {
    resolve = resolveIt;
  });
  return { promise, resolve };
}

/** A request that a client has made. Its callback holds the lock until release() or fail(). */
class RemoteRequest {
  #client;
  #key;
  #granted = deferred();
  #settled = deferred();
  #lost = deferred();
  #contended = deferred();
  #priority;
  #onPriority = () => {};

  constructor(client, key) {
    this.#client = client;
    this.#key = key;
  }

  onEvent({ granted, settled, lost, contended, priority }) {
    if (granted !== undefined) this.#granted.resolve(granted);
    if (settled !== undefined) this.#settled.resolve(settled);
    if (lost !== undefined) this.#lost.resolve(lost);
    if (contended !== undefined) this.#contended.resolve(contended);
    if (priority !== undefined) {
      this.#priority = priority;
      this.#onPriority();
    }
  }

  /** When the callback runs: the lock, described, or null. */
  get granted() {
    return this.#granted.promise;
  }

  /** When the promise of request() settles: like Promise.allSettled(), with a described reason. */
  get settled() {
    return this.#settled.promise;
  }

  /** When the lock's signal aborts, with the described reason, if made with `reportsLoss`. */
  get lost() {
    return this.#lost.promise;
  }

  /** When the lock is contended, with the described reason, if made with `reportsContention`. */
  get contended() {
    return this.#contended.promise;
  }

  /** When the lock's signal has this priority, if made with `reportsPriority`. */
  async hasPriority(priority) {
    while (this.#priority !== priority) {
      await new Promise((resolve) => {
        this.#onPriority = resolve;
      });
    }
  }

  /** Ends the callback with a value; gives `settled`. */
  async release(value) {
    await this.#client.command('finish', { key: this.#key, value });
    return this.settled;
  }

  /** Ends the callback with a rejection; gives `settled`. */
  async fail(error) {
    await this.#client.command('finish', { key: this.#key, error });
    return this.settled;
  }

  /** Changes the priority of the signal of a request that was made with `priority`. */
  setPriority(priority) {
    return this.#client.command('setPriority', { key: this.#key, priority });
  }

  /** Aborts the signal of a request that was made with `isAbortable`; gives `settled`. */
  async abort(reason) {
    await this.#client.command('abort', { key: this.#key, reason });
    return this.settled;
  }
}

/** A watch that a client has opened. */
class RemoteWatch {
  #client;
  #key;

  constructor(client, key) {
    this.#client = client;
    this.#key = key;
  }

  /** The next so many events. */
  read(count) {
    return this.#client.command('readWatch', { key: this.#key, count });
  }

  end() {
    return this.#client.command('endWatch', { key: this.#key });
  }
}

/** A client of a bucket, wherever it lives. Test bodies are written against this. */
class LockClient {
  #link;
  #key = unique('client');
  #requests = new Map();
  #clientId;

  /** @param {ReturnType<typeof import('./host-link.js').openHost>} link */
  constructor(link) {
    this.#link = link;
    link.listen(this.#key, (event) => this.#requests.get(event.key).onEvent(event));
  }

  command(command, args) {
    return this.#link.command(this.#key, command, args);
  }

  open(spec) {
    return this.command('open', spec);
  }

  /**
   * Makes a request; resolves when request() has been called. The flag `priority`: of a TaskSignal.
   */
  async request(name, options = {}, flags = {}) {
    const { isAbortable = false, priority, ...reports } = flags;
    const key = unique('request');
    const request = new RemoteRequest(this, key);
    this.#requests.set(key, request);
    await this.command('request', { key, name, options, isAbortable, priority, ...reports });
    return request;
  }

  /**
   * Makes a request; resolves when its callback runs, or will never run: a lock may be lost before,
   * for example if its hold limit is over before this process has received the grant.
   */
  async hold(name, options, reports) {
    const request = await this.request(name, options, reports);
    await Promise.race([request.granted, request.settled]);
    return request;
  }

  /** Watches a name, or all; resolves when watch() has returned. */
  async watch(name) {
    const key = unique('watch');
    await this.command('watch', { key, name });
    return new RemoteWatch(this, key);
  }

  /** The snapshot of the whole bucket. */
  query() {
    return this.command('query');
  }

  /** The snapshot with everything there is to know, of one name. */
  async inspectionOf(name) {
    const { held, pending } = await this.command('inspect');
    const ofIt = (details) => details.filter((detail) => detail.name === name);
    return { held: ofIt(held), pending: ofIt(pending) };
  }

  isLocked(name) {
    return this.command('isLocked', { name });
  }

  /** The modes that are held and pending under one name. */
  async queryOf(name) {
    return ofName(await this.query(), name);
  }

  /** The clientId that query() shows for this client. */
  async clientId() {
    if (this.#clientId === undefined) {
      const name = unique('whoami');
      const holder = await this.hold(name);
      const { held } = await this.query();
      this.#clientId = held.find((info) => info.name === name).clientId;
      await holder.release();
    }
    return this.#clientId;
  }

  /** Runs a self-contained function inside the client. */
  run(body, name = unique('name')) {
    return this.command('run', { source: String(body), name });
  }

  close() {
    return this.command('close');
  }

  /** Ends the thread or process that the client lives in. */
  end() {
    return this.#link.stop();
  }
}

module.exports = { LockClient, unique };
