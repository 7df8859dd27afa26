'use strict';

const { usageOf } = require('../internals.js');
const { LockMonitor } = require('../lock-monitor.js');
const { toJson } = require('../output.js');
const { describeLock, findLocks, toPicture } = require('./picture.js');

/** @typedef {import('node:http').ServerResponse} Response */

/** A page that is this far behind is left out of a picture: the next one says it all again. */
const MAX_BEHIND_BYTES = 1_000_000;

/**
 * Pictures of the bucket for all pages that are open. While no page is open, nothing is watched and
 * nobody pays for it.
 */
class LiveFeed {
  #manager;
  #place;
  #interval;
  /** @type {Set<Response>} */
  #pages = new Set();
  /** @type {LockMonitor | undefined} while there are pages */
  #monitor = undefined;
  /** @type {import('../lock-monitor.js').View | undefined} the newest */
  #view = undefined;
  /** @type {NodeJS.Timeout | undefined} */
  #timer = undefined;
  #number = 0;

  /**
   * @param {import('holdfast').LockManager} manager
   * @param {{ place: string, interval: number }} options
   */
  constructor(manager, { place, interval }) {
    this.#manager = manager;
    this.#place = place;
    this.#interval = interval;
  }

  /** @param {Response} page */
  add(page) {
    page.writeHead(200, { 'Content-Type': 'text/event-stream', 'X-Accel-Buffering': 'no' });
    page.write('retry: 1000\n\n');
    this.#pages.add(page);
    page.on('close', () => this.#remove(page));
    if (this.#monitor === undefined) void this.#run();
  }

  /**
   * One lock with all its requests, as JSON.
   * @param {string} name
   */
  async lock(name) {
    return toJson(describeLock(name, await this.#manager.inspect()));
  }

  /**
   * The locks of the newest view with a text in their names, as JSON.
   * @param {string} text
   */
  locks(text) {
    return toJson(this.#view ? findLocks(this.#view, text) : { total: 0, locks: [] });
  }

  close() {
    for (const page of this.#pages) page.end();
    this.#stop();
  }

  /** @param {Response} page */
  #remove(page) {
    this.#pages.delete(page);
    if (this.#pages.size === 0) this.#stop();
  }

  #stop() {
    clearTimeout(this.#timer);
    this.#monitor?.close();
    this.#monitor = undefined;
    this.#view = undefined;
  }

  async #run() {
    try {
      const monitor = (this.#monitor = new LockMonitor(this.#manager));
      await monitor.start();
      await this.#show(monitor);
    } catch (error) {
      this.#tell('failure', toJson({ message: /** @type {Error} */ (error).message }));
      this.#stop();
      for (const page of this.#pages) page.end(); // they come back, to what is there then
    }
  }

  /** @param {LockMonitor} monitor */
  async #show(monitor) {
    while (this.#monitor === monitor) {
      const view = (this.#view = await monitor.view());
      this.#number += 1;
      const picture = toPicture(view, { place: this.#place, usage: usageOf(this.#manager) });
      this.#tell('picture', toJson({ ...picture, interval: this.#interval, number: this.#number }));
      await new Promise((resolve) => {
        this.#timer = setTimeout(resolve, this.#interval);
      });
    }
  }

  /**
   * @param {string} event
   * @param {string} data  JSON, which has no line breaks
   */
  #tell(event, data) {
    for (const page of this.#pages) {
      if (page.writableLength < MAX_BEHIND_BYTES) page.write(`event: ${event}\ndata: ${data}\n\n`);
    }
  }
}

module.exports = { LiveFeed };
