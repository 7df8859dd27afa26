'use strict';

const { isOutsideKnown } = require('../enclosing-word.js');
const { eachOf } = require('../../sliced.js');
const { WaitNode, Resource } = require('./wait-node.js');

/** @typedef {import('../../../types/backend.d.ts').LockDetail} LockDetail */

/** A node that stands for a request and all later ones of its agent. */
const LATER_ONES = /** @type {LockDetail} */ (
  /** @type {unknown} */ ({ token: 0n, mode: 'shared' })
);

/**
 * Identifies a thread, for all of its lock managers; pid 0 means another PID namespace. Machines
 * number their processes alike.
 * @param {LockDetail} detail
 */
const agentOf = ({ pid, threadId, clientId, host = '' }) =>
  pid === 0 ? clientId : `${pid} ${threadId} ${host}`;

/** @param {LockDetail} lock  held */
const grantedAt = ({ since, waited }) => since + waited;

/**
 * Where the call chain is not followed, a request may be inside every lock that its agent held when
 * it was made. Links each of these locks with the first such request after its grant, and each
 * request with the next one. The number of links is that of locks plus requests.
 * @param {Map<bigint, WaitNode>} held
 * @param {Map<string, WaitNode>} pending
 * @returns {Generator<void, void, void>}
 */
function* linkPossible(held, pending) {
  /** @type {Map<string, WaitNode[]>} */
  const byAgent = new Map();
  yield* eachOf(pending.values(), (node) => {
    if (isOutsideKnown(node.detail, (token) => held.get(token)?.detail)) return;
    const agent = agentOf(node.detail);
    const requests = byAgent.get(agent);
    if (requests === undefined) byAgent.set(agent, [node]);
    else requests.push(node);
  });
  /** @type {Map<string, { since: number, node: WaitNode }[]>} */
  const chains = new Map();
  for (const [agent, requests] of byAgent) chains.set(agent, yield* toChain(requests));
  yield* eachOf(held.values(), (holder) => {
    const chain = chains.get(agentOf(holder.detail));
    const later = chain && firstSince(chain, grantedAt(holder.detail));
    if (later !== undefined) holder.waitFor(later);
  });
}

/**
 * @param {WaitNode[]} requests  of an agent
 * @returns {Generator<void, { since: number, node: WaitNode }[], void>} oldest first; each waits
 *   for its request and the next node
 */
function* toChain(requests) {
  requests.sort((a, b) => a.detail.since - b.detail.since);
  const nobodys = new Resource();
  /** @type {{ since: number, node: WaitNode }[]} */
  const chain = [];
  yield* eachOf(requests, (request) => {
    const node = new WaitNode(LATER_ONES, nobodys);
    node.waitFor(request);
    chain.at(-1)?.node.waitFor(node);
    chain.push({ since: request.detail.since, node });
  });
  return chain;
}

/**
 * @param {{ since: number, node: WaitNode }[]} chain
 * @param {number} time
 */
function firstSince(chain, time) {
  let low = 0;
  let high = chain.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (chain[middle].since < time) low = middle + 1;
    else high = middle;
  }
  return chain[low]?.node;
}

module.exports = { agentOf, linkPossible };
