'use strict';

/** @typedef {import('../../../types/backend.d.ts').LockBackend} LockBackend */
/** @typedef {import('../../../types/backend.d.ts').LockBackendRequest} Request */

const { openDefaultBackend } = require('../default-backend.js');
const { GRANTED } = require('../outcome.js');

/** The bucket of this machine in which sessions know of each other. */
const BUCKET = 'holdfast-etcd-sessions';
const PREFIX = 'lease ';
const POKE = 'poke ';

function ignore() {}

/** A request of ours, with one function for each way that it may go. */
class LinkRequest {
  mode = /** @type {const} */ ('exclusive');
  ifAvailable = false;
  extras = undefined;
  backendId = -1;
  tokenHigh = 0;
  tokenLow = 0;

  /**
   * @param {string} name
   * @param {{ steal?: boolean, granted?: () => void, lost?: () => void }} [options]
   */
  constructor(name, { steal = false, granted = ignore, lost = ignore } = {}) {
    this.name = name;
    this.steal = steal;
    this.granted = granted;
    this.lost = lost;
    this.missed = ignore;
    this.failed = ignore;
  }
}

/**
 * The sessions of one machine with one cluster, as a ring in the machine's own lock table: each
 * holds a lock that has the name of its lease, and waits for that of the next one. The session that
 * gets that lock knows that the other's process, or thread, has ended, and revokes its lease.
 *
 * A session that joins notifies the one before it, by stealing a lock that has no other use.
 */
class MachineLink {
  #lease;
  #cluster;
  #revoke;
  /** @type {LockBackend | undefined} */
  #table;
  /** @type {{ lease: string, request: Request } | undefined} */
  #next;
  #isClosed = false;

  /**
   * @param {string} cluster  what tells it from others
   * @param {string} lease
   * @param {(lease: string) => void} revoke
   */
  constructor(cluster, lease, revoke) {
    this.#cluster = cluster;
    this.#lease = lease;
    this.#revoke = revoke;
  }

  /** Where the machine has no lock table for processes, deaths are noticed by the cluster. */
  open() {
    try {
      this.#table = openDefaultBackend({ bucket: BUCKET, url: localUrl() });
      this.#table.enqueue(new LinkRequest(this.#nameOf(this.#lease)));
      this.#listen();
    } catch {
      this.close();
      return;
    }
    this.#look(true);
  }

  close() {
    this.#isClosed = true;
    this.#table?.close();
    this.#table = undefined;
  }

  /** @param {string} lease */
  #nameOf(lease) {
    return `${PREFIX}${this.#cluster} ${lease}`;
  }

  /** @param {string} lease */
  #pokeOf(lease) {
    return `${POKE}${this.#cluster} ${lease}`;
  }

  /** Holds the lock that others steal, again and again. */
  #listen() {
    if (this.#isClosed) return;
    const lost = () => {
      this.#listen();
      void this.#look(false);
    };
    // Until it is granted again, nobody who steals it is heard.
    const granted = () => void this.#look(false);
    this.#ask(new LinkRequest(this.#pokeOf(this.#lease), { granted, lost }));
  }

  /**
   * @param {Request} request
   * @returns {boolean} whether it was granted at once; if not, granted() may follow
   */
  #ask(request) {
    try {
      return this.#table?.enqueue(request) === GRANTED;
    } catch {
      return false; // the table is full, or gone: deaths are noticed by the cluster
    }
  }

  /** @param {boolean} isNew  the one before has still to hear of this one */
  async #look(isNew) {
    const leases = await this.#findLeases();
    if (this.#table === undefined) return;
    const index = leases.indexOf(this.#lease);
    if (index < 0 || leases.length < 2) {
      this.#waitFor(undefined);
      return;
    }
    this.#waitFor(leases[(index + 1) % leases.length]);
    if (isNew) this.#poke(leases[(index + leases.length - 1) % leases.length]);
  }

  /** @returns {Promise<string[]>} sorted */
  async #findLeases() {
    const prefix = this.#nameOf('');
    try {
      const { held = [] } = (await this.#table?.snapshot()) ?? {};
      const names = held.map(({ name }) => name).filter((name) => name.startsWith(prefix));
      return names.map((name) => name.slice(prefix.length)).sort();
    } catch {
      return []; // closed meanwhile
    }
  }

  /** @param {string | undefined} lease */
  #waitFor(lease) {
    if (this.#next?.lease === lease) return;
    if (this.#next !== undefined) this.#table?.cancel(this.#next.request);
    this.#next = undefined;
    if (lease === undefined) return;
    const request = new LinkRequest(this.#nameOf(lease), {
      granted: () => this.#onDeath(lease, request),
    });
    this.#next = { lease, request };
    // Granted at once: it has ended since it was seen.
    if (this.#ask(request)) this.#onDeath(lease, request);
  }

  /**
   * @param {string} lease
   * @param {Request} request
   */
  #onDeath(lease, request) {
    this.#next = undefined;
    this.#table?.release(request);
    this.#revoke(lease);
    void this.#look(false);
  }

  /** @param {string} lease */
  #poke(lease) {
    const granted = () => void this.#table?.release(request);
    const request = new LinkRequest(this.#pokeOf(lease), { steal: true, granted });
    if (this.#ask(request)) granted();
  }
}

/** Where the locks of this machine live, whatever HOLDFAST_URL says. */
const localUrl = () => (process.platform === 'linux' ? 'shm:' : 'broker:');

module.exports = { MachineLink };
