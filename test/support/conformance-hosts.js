'use strict';

const { mkdtempSync, rmSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { openHost } = require('./host-link.js');

/**
 * The threads and processes that the clients of one test file live in, and the directories of their
 * buckets. Starting them takes longer than most tests: the hosts of one combination are reused by
 * the next, and all combinations over a broker have one broker.
 */
class ConformanceHosts {
  #idle = { worker: [], process: [] };
  #hostKinds = new Map();
  #directories = new Map();

  /** @param {'main' | 'worker' | 'process'} hostKind */
  take(hostKind) {
    const link = this.#idle[hostKind]?.pop() ?? openHost(hostKind);
    this.#hostKinds.set(link, hostKind);
    return link;
  }

  /** The clients that lived there are closed. @param {import('./host-link.js').HostLink} link */
  release(link) {
    if (link.isLiving) this.#idle[this.#hostKinds.get(link)]?.push(link);
  }

  /** A new directory, except for a broker. @param {string} backend */
  directoryOf(backend) {
    const known = this.#directories.get(backend);
    if (known !== undefined) return known;
    const directory = mkdtempSync(join(tmpdir(), 'holdfast-'));
    if (backend === 'broker') this.#directories.set(backend, directory);
    return directory;
  }

  /** @param {string} directory */
  leave(directory) {
    if (![...this.#directories.values()].includes(directory)) remove(directory);
  }

  async close() {
    const links = Object.values(this.#idle).flat();
    await Promise.all(links.map((link) => link.stop()));
    for (const directory of this.#directories.values()) remove(directory);
  }
}

/** A broker stays for a time after its last client, and may be writing its journal. */
function remove(directory) {
  rmSync(directory, { recursive: true, force: true, maxRetries: 20 });
}

module.exports = { ConformanceHosts };
