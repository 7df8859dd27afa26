'use strict';

const { openDefaultBackend } = require('../default-backend.js');
const { GRANTED } = require('../outcome.js');

/** @typedef {import('../../../types/backend.d.ts').LockBackendRequest} Request */
/** @typedef {import('../../../types/backend.d.ts').LockBackend} LockBackend */

/** @typedef {{ lease: string, pid: number | null }} Session */

/** The bucket of this machine in which sessions know of each other. */
const BUCKET = 'holdfast-etcd-sessions';
const PREFIX = 'lease ';
const POKE = 'poke ';
/** How many processes are notified of a new session: all but one of them may die at once. */
const MAX_NOTIFIED = 3;

function ignore() {}

/** A request of ours, with one function for each way that it may go. */
class LinkRequest {
  mode = /** @type {const} */ ('exclusive');
  extras = undefined;
  backendId = -1;
  tokenHigh = 0;
  tokenLow = 0;

  /**
   * @param {string} name
   * @param {{ steal?: boolean, ifAvailable?: boolean, granted?: () => void, lost?: () => void }}
   *   [options]
   */
  constructor(name, { steal = false, ifAvailable = false, granted = ignore, lost = ignore } = {}) {
    this.name = name;
    this.steal = steal;
    this.ifAvailable = ifAvailable;
    this.granted = granted;
    this.lost = lost;
    this.missed = ignore;
    this.failed = ignore;
  }
}

/**
 * The sessions of one machine with one cluster, as a ring in the machine's own lock table. Each
 * session holds a lock that has the name of its lease, and waits for the next session's lock. The
 * session that gets that lock knows that the other process, or thread, has ended, and revokes the
 * other's lease.
 *
 * Several sessions may end at once, as all of one process do: also a session and its waiter. So
 * each session remembers the sessions that it has seen, and checks all that it does not see any
 * more.
 *
 * A session that joins notifies the session before it, and the next processes before that, by
 * stealing a lock that has no other use.
 */
class MachineLink {
  #lease;
  #cluster;
  #revoke;
  /** @type {LockBackend | undefined} */
  #table;
  /** @type {{ lease: string, request: Request } | undefined} */
  #next;
  /** The sessions that it saw at the last look. @type {Set<string>} */
  #known = new Set();
  #isClosed = false;

  /**
   * @param {string} cluster  its unique id
   * @param {string} lease
   * @param {(lease: string) => void} revoke
   */
  constructor(cluster, lease, revoke) {
    this.#cluster = cluster;
    this.#lease = lease;
    this.#revoke = revoke;
  }

  /**
   * Joins the ring. On a machine without a lock table for processes, the cluster notices deaths.
   */
  open() {
    try {
      this.#table = openDefaultBackend({ bucket: BUCKET, url: localUrl() });
      // The table was removed: in another table, no living session has a lock.
      const lost = () => this.close();
      this.#table.enqueue(new LinkRequest(this.#nameOf(this.#lease), { lost }));
      this.#listen();
    } catch {
      this.close();
      return;
    }
    this.#readTable(true);
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
      void this.#readTable(false);
    };
    // Until it is granted again, a steal is not noticed.
    const granted = () => void this.#readTable(false);
    this.#enqueue(new LinkRequest(this.#pokeOf(this.#lease), { granted, lost }));
  }

  /**
   * @param {Request} request
   * @returns {boolean} whether it was granted at once; if not, granted() may follow
   */
  #enqueue(request) {
    try {
      return this.#table?.enqueue(request) === GRANTED;
    } catch (error) {
      if (/** @type {Error} */ (error).name !== 'QuotaExceededError') this.close();
      return false; // the table is full, or gone: deaths are noticed by the cluster
    }
  }

  /** @param {boolean} isNew  the others are not notified of this one yet */
  async #readTable(isNew) {
    const sessions = await this.#findSessions();
    if (this.#table === undefined) return;
    const leases = sessions.map(({ lease }) => lease);
    const index = leases.indexOf(this.#lease);
    if (index >= 0) this.#checkMissing(new Set(leases));
    if (index < 0 || leases.length < 2) {
      this.#waitFor(undefined);
      return;
    }
    this.#waitFor(leases[(index + 1) % leases.length]);
    if (!isNew) return;
    const others = [...sessions.slice(index + 1), ...sessions.slice(0, index)].reverse();
    for (const lease of neighboursOf(others, sessions[index])) this.#poke(lease);
  }

  /** @returns {Promise<Session[]>} in the order of the ring */
  async #findSessions() {
    const prefix = this.#nameOf('');
    try {
      const { held = [] } = (await this.#table?.inspect()) ?? {};
      return held
        .filter(({ name }) => name.startsWith(prefix))
        .map(({ name, pid }) => ({ lease: name.slice(prefix.length), pid }))
        .sort((a, b) => (a.lease < b.lease ? -1 : 1));
    } catch {
      return []; // closed meanwhile
    }
  }

  /**
   * The locks of the dead are not shown any more. A lock without a holder is of a session that has
   * ended. A session that lives has its lock, in a table in which this one has its own.
   * @param {Set<string>} seen
   */
  #checkMissing(seen) {
    const missing = [...this.#known].filter((lease) => !seen.has(lease));
    this.#known = seen;
    for (const lease of missing) {
      if (lease === this.#lease || lease === this.#next?.lease) continue;
      const granted = () => this.#onEnd(lease, request);
      const request = new LinkRequest(this.#nameOf(lease), { ifAvailable: true, granted });
      if (this.#enqueue(request)) granted();
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
    if (this.#enqueue(request)) this.#onDeath(lease, request);
  }

  /**
   * @param {string} lease
   * @param {Request} request
   */
  #onDeath(lease, request) {
    this.#next = undefined;
    this.#known.delete(lease);
    this.#onEnd(lease, request);
    void this.#readTable(false);
  }

  /**
   * @param {string} lease
   * @param {Request} request
   */
  #onEnd(lease, request) {
    this.#table?.release(request);
    this.#revoke(lease);
  }

  /** @param {string} lease */
  #poke(lease) {
    const granted = () => void this.#table?.release(request);
    const request = new LinkRequest(this.#pokeOf(lease), { steal: true, granted });
    if (this.#enqueue(request)) granted();
  }
}

/**
 * The one before, and the next processes before it.
 * @param {Session[]} others  backwards from this one
 * @param {Session} self
 */
function neighboursOf(others, self) {
  const neighbours = new Set(others.slice(0, 1).map(({ lease }) => lease));
  const processes = new Set([self.pid]);
  for (const { lease, pid } of others) {
    if (processes.has(pid)) continue;
    processes.add(pid);
    neighbours.add(lease);
    if (processes.size > MAX_NOTIFIED) break;
  }
  return neighbours;
}

/** The URL of the locks of this machine, whatever HOLDFAST_URL says. */
const localUrl = () => (process.platform === 'linux' ? 'shm:' : 'broker:');

module.exports = { MachineLink };
