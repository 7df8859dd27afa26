'use strict';

const { mkdtempSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { isDeepStrictEqual } = require('node:util');
const { openLockManager } = require('../../lib/index.js');
const { Actor } = require('./process-actor.js');
const { ALL_PROCESS_BACKENDS: BACKENDS } = require('./process-backends.js');

const OWN_AGENT = 1;

const WATCHDOG_MS = 20_000;

/**
 * Resolves when `read()` gives what is expected. A watchdog fails with what it gave last.
 * @template T
 * @param {() => T | Promise<T>} read
 * @param {T} expected
 */
async function untilEqual(read, expected) {
  const end = Date.now() + WATCHDOG_MS;
  for (;;) {
    const value = await read();
    if (isDeepStrictEqual(value, expected)) return;
    if (Date.now() > end) return expect(value).toEqual(expected);
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
}

/** A bucket of a test file, the lock manager of its main thread, and actors that use the bucket. */
class ProcessBucket {
  directory = mkdtempSync(join(tmpdir(), 'holdfast-'));
  #sweeps;
  #backend;
  #actors = new Set();

  /**
   * @param {object} [options]
   * @param {boolean} [options.sweeps]  without the sweep nothing works because of it: what is not
   *   noticed at once is never noticed
   * @param {string} [options.backend]
   * @param {(directory: string) => void} [options.prepare]  the directory, before its first use
   */
  constructor({ sweeps = false, backend = 'shared memory', prepare = () => {} } = {}) {
    prepare(this.directory);
    this.#sweeps = sweeps;
    this.#backend = backend;
    const { open } = BACKENDS[backend];
    this.locks = openLockManager({ backend: open({ directory: this.directory, sweeps }) });
  }

  /**
   * @param {'process' | 'thread' | 'thread of another process'} hostKind
   * @param {{ inside?: string[], env?: object, directory?: string }} [options]  of Actor.start()
   */
  start(hostKind, options) {
    const actor = Actor.start(hostKind, {
      directory: this.directory,
      sweeps: this.#sweeps,
      backend: this.#backend,
      ...options,
    });
    this.#actors.add(actor);
    actor.ended.then(() => this.#actors.delete(actor));
    return actor;
  }

  /** Starts an actor that is attached to the bucket when this resolves. */
  async open(hostKind, options) {
    const actor = this.start(hostKind, options);
    await actor.clientId();
    return actor;
  }

  /**
   * A process comes, and goes when it has removed the files of the dead. A process that dies while
   * no other waits for it leaves files behind, and they are left to newcomers and to the sweep: to
   * the background thread of a newcomer, which needs a while.
   * @param {{ processes?: number }} [living]  actors, beside the main thread
   */
  async receiveNewcomer({ processes = 0 } = {}) {
    const newcomer = await this.open('process');
    await this.hasFilesOf({ processes: processes + 1 });
    await newcomer.retire();
  }

  /** Holds a lock in the main thread; resolves with a function that releases it. */
  async hold(name, options = {}) {
    let release;
    let released;
    await new Promise((granted) => {
      released = this.locks.request(name, options, () => {
        granted();
        return new Promise((resolve) => (release = resolve));
      });
    });
    released.catch(() => {}); // when a failed test never releases it
    return () => {
      release();
      return released;
    };
  }

  /**
   * Resolves when the lock table is empty and the directory holds what the living need.
   * @param {{ processes?: number, threads?: number }} [living]  actors, beside the main thread
   */
  async isClean(living) {
    await untilEqual(() => this.locks.query(), { held: [], pending: [] });
    await this.hasFilesOf(living);
  }

  /**
   * Resolves when the directory holds the files of all living processes, and no others.
   * @param {{ processes?: number, threads?: number }} [living]  actors, beside the main thread
   */
  async hasFilesOf({ processes = 0, threads = 0 } = {}) {
    const { filesIn, filesOf } = BACKENDS[this.#backend];
    const living = { agents: OWN_AGENT + processes + threads, processes: OWN_AGENT + processes };
    await untilEqual(() => filesIn(this.directory), filesOf(living));
  }

  async close() {
    await Promise.all([...this.#actors].map((actor) => actor.end()));
    this.locks.close();
    BACKENDS[this.#backend].remove(this.directory);
  }
}

module.exports = { ProcessBucket, untilEqual };
