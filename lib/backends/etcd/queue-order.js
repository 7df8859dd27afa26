'use strict';

const { PRIORITIES } = require('./keys.js');

// The order of a queue: by priority, then by age, and so that a waiting request is overtaken by at
// most MAX_OVERTAKES younger ones (invariants Q1 to Q3 in docs/etcd-protocol.md).

const MAX_OVERTAKES = 16;

/**
 * @typedef {object} Queued  a waiting request
 * @property {string} id
 * @property {string} created  the revision
 * @property {number} priority
 * @property {string[]} behind  by lower priority: it stands behind the requests of that priority
 *   that are no younger than that revision; none: it stands behind none
 */

/** @typedef {{ revision: string, priority: number }} Overtake  an entry that overtook requests */

/**
 * Those that entered together are in the order of their ids.
 * @param {{ created: string, id: string }} a
 * @param {{ created: string, id: string }} b
 */
function byAge(a, b) {
  if (a.created !== b.created) return BigInt(a.created) < BigInt(b.created) ? -1 : 1;
  return a.id < b.id ? -1 : 1;
}

/**
 * Whether a request goes before one of a lower priority.
 * @param {{ behind: string[] }} request
 * @param {{ priority: number, created: string }} lower
 */
const isBefore = ({ behind }, { priority, created }) =>
  BigInt(created) > BigInt(behind[priority] ?? '0');

/**
 * @template {Queued} T
 * @param {T[][]} lists  by priority, each by age
 * @param {boolean[]} [isCut]  more follow in that list: then the order ends with it
 * @returns {(T & { stoppers: T[] })[]} in the order of the queue; stoppers: if one of these leaves,
 *   a request with a higher priority, which stands behind it, moves ahead of this one
 */
function merge(lists, isCut = []) {
  const positions = lists.map(() => 0);
  const isUnknown = (/** @type {number} */ priority) =>
    positions[priority] === lists[priority].length && isCut[priority] === true;
  /** @type {(T & { stoppers: T[] })[]} */
  const merged = [];
  while (!lists.some((_, priority) => isUnknown(priority))) {
    /** @type {T[]} the first requests of the lists, from the lowest priority up */
    const heads = lists.flatMap((list, priority) => list[positions[priority]] ?? []);
    const first = heads.findLast((head, i) => heads.slice(0, i).every((it) => isBefore(head, it)));
    if (first === undefined) break;
    const stopped = heads.filter((it) => it.priority > first.priority && isBefore(it, first));
    const stoppers = stopped.flatMap((it) => heads.find((head) => !isBefore(it, head)) ?? []);
    merged.push({ ...first, stoppers });
    positions[first.priority] += 1;
  }
  return merged;
}

/**
 * @template {Queued} T
 * @param {T[]} waiting  all of a name, by age
 * @returns {T[]} in the order of the queue
 */
const inOrder = (waiting) =>
  merge(PRIORITIES.map((_, priority) => waiting.filter((it) => it.priority === priority)));

/**
 * The last overtakes of a name, in a key. The key was changed at the revision of the last overtake.
 */
class OvertakeLog {
  /** @type {Overtake[]} oldest first */
  #overtakes;
  /** Of the last change. */
  revision;

  /** @param {any} keyValue  undefined: there is no key */
  constructor(keyValue) {
    this.revision = keyValue?.mod_revision ?? '0';
    const value = keyValue === undefined ? '[]' : Buffer.from(keyValue.value).toString('utf8');
    /** @type {[number, string?][]} */
    const written = JSON.parse(value);
    this.#overtakes = written.map(([priority, revision = this.revision]) => ({
      priority,
      revision,
    }));
  }

  /**
   * The position of a request that enters now.
   * @param {number} priority  of the request
   * @returns {string[]} see Queued
   */
  behind(priority) {
    const revisions = PRIORITIES.slice(0, priority).map((_, lower) => {
      const above = this.#overtakes.filter((it) => it.priority > lower);
      return above.at(-MAX_OVERTAKES)?.revision ?? '0';
    });
    return revisions.every((revision) => revision === '0') ? [] : revisions;
  }

  /**
   * How often a waiting request was overtaken.
   * @param {{ priority: number, created: string }} request
   */
  countOver({ priority, created }) {
    const later = this.#overtakes.filter(
      (it) => it.priority > priority && BigInt(it.revision) > BigInt(created),
    );
    return Math.min(later.length, MAX_OVERTAKES);
  }

  /**
   * @param {number} priority  of a request that overtakes others now
   * @returns {string} the value of the key
   */
  with(priority) {
    const overtakes = [...this.#overtakes, { priority, revision: undefined }];
    const last = (/** @type {number} */ lower) =>
      overtakes.filter((it) => it.priority > lower).slice(-MAX_OVERTAKES);
    const needed = new Set(PRIORITIES.flatMap((_, lower) => last(lower)));
    const kept = overtakes.filter((it) => needed.has(it));
    return JSON.stringify(
      kept.map(({ priority: its, revision }) => (revision === undefined ? [its] : [its, revision])),
    );
  }
}

module.exports = { MAX_OVERTAKES, OvertakeLog, byAge, inOrder, isBefore, merge };
