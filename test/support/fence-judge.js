'use strict';

/**
 * @typedef {object} Hold  one grant, as its holder reports it
 * @property {number} pid
 * @property {string} mode
 * @property {bigint} token
 * @property {boolean} isOvertaken  another has come in beside it, or it came too late
 */

const max = (/** @type {bigint} */ a, /** @type {bigint} */ b) => (a > b ? a : b);

/**
 * The resource behind one name: the holds inside, the largest tokens that came in, and the last
 * request of each process.
 */
class Resource {
  /** @type {Map<string, Hold>} by id */
  inside = new Map();
  #last = 0n;
  #lastExclusive = 0n;
  /** @type {Map<string, number>} by process and rank */
  #orders = new Map();

  /**
   * @param {number} pid
   * @param {number} rank  of the priority
   * @param {number} order  of the requests of the process
   * @returns {boolean} whether it is a later one than the last with that priority
   */
  isInOrder(pid, rank, order) {
    const key = `${pid} ${rank}`;
    const last = this.#orders.get(key) ?? 0;
    this.#orders.set(key, order);
    return order > last;
  }

  /** Shared holders may come in any order. @param {Hold} hold */
  isStale({ mode, token }) {
    return token <= (mode === 'shared' ? this.#lastExclusive : this.#last);
  }

  /** @param {Hold} hold */
  note({ mode, token }) {
    this.#last = max(this.#last, token);
    if (mode !== 'shared') this.#lastExclusive = max(this.#lastExclusive, token);
  }
}

/**
 * Judges what a resource has accepted from holders of locks. It knows nothing of holdfast: only the
 * holders inside, their tokens, the notified losses, and how each hold ended.
 *
 * F1  No holder comes in beside a holder without a notified loss, unless the latter is excused:
 *     dead, stopped, or of a session that the test has ended by force.
 * F2  No smaller token is accepted after a larger one.
 * F3  A hold that was overtaken or refused never ends well: its holder learns of it.
 * F4  The requests of a process for a name come in in their order, if they have one priority.
 */
class FenceJudge {
  /** @type {string[]} */
  faults = [];
  counts = { entered: 0, notified: 0, refused: 0, overtaken: 0 };
  /** @type {Map<string, Resource>} */
  #resources = new Map();
  /** @type {Map<string, Hold>} of all holds that have not ended */
  #holds = new Map();
  /** @type {Map<number, number>} */
  #enteredBy = new Map();
  /** @type {Set<number>} */
  #dead = new Set();
  /** @type {Map<number | '*', bigint | undefined>} up to which token; undefined: all */
  #excuses = new Map();

  /** @type {Map<number, number>} by process, when it entered last */
  wallClocks = new Map();

  /** @param {number} pid */
  enteredBy(pid) {
    return this.#enteredBy.get(pid) ?? 0;
  }

  get open() {
    return this.#holds.size;
  }

  /**
   * @typedef {{ pid: number, name: string, mode: string, id: string, token: string }} Grant
   * @param {Grant & { order?: number, rank?: number, wallClock?: number }} call  rank: of the
   *   priority
   * @returns {boolean} whether it is accepted
   */
  enter({ pid, name, mode, id, token, order, rank = 1, wallClock }) {
    if (this.#dead.has(pid)) return false;
    if (wallClock !== undefined) this.wallClocks.set(pid, wallClock);
    const hold = { pid, mode, token: BigInt(token), isOvertaken: false };
    this.#holds.set(id, hold);
    const resource = this.#resourceOf(name);
    if (order !== undefined && !resource.isInOrder(pid, rank, order)) {
      this.faults.push(`F4 ${name}: ${id} is request ${order} of its process`);
    }
    if (resource.isStale(hold)) {
      hold.isOvertaken = true;
      this.counts.refused += 1;
      return false;
    }
    this.counts.entered += 1;
    this.#enteredBy.set(pid, this.enteredBy(pid) + 1);
    for (const [otherId, other] of resource.inside) {
      if (mode === 'shared' && other.mode === 'shared') continue;
      resource.inside.delete(otherId);
      other.isOvertaken = true;
      this.counts.overtaken += 1;
      if (!this.#isExcused(other)) this.faults.push(`F1 ${name}: ${id} beside ${otherId}`);
    }
    resource.note(hold);
    resource.inside.set(id, hold);
    return true;
  }

  /**
   * @param {{ name: string, id: string }} call
   * @returns {boolean} whether what it did inside is accepted
   */
  leave({ name, id }) {
    return this.#resourceOf(name).inside.delete(id);
  }

  /** @param {{ name: string, id: string }} call  of a holder that was notified of its loss */
  notified({ name, id }) {
    this.counts.notified += 1;
    this.#resourceOf(name).inside.delete(id);
  }

  /** @param {{ id: string, isWell: boolean }} call  isWell: its holder knows of no loss */
  end({ id, isWell }) {
    const hold = this.#holds.get(id);
    this.#holds.delete(id);
    if (isWell && hold?.isOvertaken) this.faults.push(`F3 ${id} was overtaken and not notified`);
  }

  /** Called before the process is killed: nothing more is accepted. @param {number} pid */
  bury(pid) {
    this.#dead.add(pid);
    for (const { inside } of this.#resources.values()) {
      for (const [id, hold] of inside) if (hold.pid === pid) inside.delete(id);
    }
    for (const [id, hold] of this.#holds) if (hold.pid === pid) this.#holds.delete(id);
  }

  /**
   * Grants up to this token may be overtaken: their holder cannot be notified in time.
   * @param {number | '*'} pid
   * @param {bigint} [upTo]  without it, all
   */
  excuse(pid, upTo) {
    this.#excuses.set(pid, upTo);
  }

  /** @param {Hold} hold */
  #isExcused({ pid, token }) {
    return /** @type {const} */ ([pid, '*']).some((who) => {
      if (!this.#excuses.has(who)) return false;
      const upTo = this.#excuses.get(who);
      return upTo === undefined || token <= upTo;
    });
  }

  /** @param {string} name */
  #resourceOf(name) {
    const resource = this.#resources.get(name) ?? new Resource();
    this.#resources.set(name, resource);
    return resource;
  }
}

module.exports = { FenceJudge };
