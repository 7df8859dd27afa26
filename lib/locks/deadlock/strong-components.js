'use strict';

const { eachOf, runAtOnce } = require('../../sliced.js');

/**
 * Computes the strongly connected components of a directed graph: for each node the nodes that it
 * can reach and that can reach it, itself included. Tarjan's algorithm, without recursion. Yields
 * at every step.
 * @template N
 * @param {Iterable<N>} starts  nodes from which all others can be reached
 * @param {(node: N) => Iterable<N>} next  the successors of a node; called once per node
 * @returns {Generator<void, Map<N, N[]>, void>} nodes of one component share one array
 */
function* strongComponents(starts, next) {
  /** @type {Map<N, number>} the order of discovery */
  const indexes = new Map();
  /** @type {Map<N, number>} the earliest reachable node that is still open */
  const lowest = new Map();
  /** @type {Map<N, N[]>} */
  const components = new Map();
  /** @type {N[]} discovered, but in no component yet */
  const open = [];

  /** @param {N} node */
  const enter = (node) => {
    indexes.set(node, indexes.size);
    lowest.set(node, indexes.size - 1);
    open.push(node);
    return { node, rest: next(node)[Symbol.iterator]() };
  };
  /**
   * @param {N} node
   * @param {number | undefined} index
   */
  const lower = (node, index) => {
    lowest.set(node, Math.min(Number(lowest.get(node)), Number(index)));
  };
  /** @param {N} node */
  function* leave(node) {
    if (lowest.get(node) !== indexes.get(node)) return;
    const component = open.splice(open.lastIndexOf(node));
    yield* eachOf(component, (member) => components.set(member, component));
  }

  /**
   * Takes one step forward or back.
   * @param {{ node: N, rest: Iterator<N> }[]} path
   */
  function* walk(path) {
    const { node, rest } = path[path.length - 1];
    const { done, value } = rest.next();
    if (done) {
      yield* leave(node);
      path.pop();
      if (path.length > 0) lower(path[path.length - 1].node, lowest.get(node));
    } else if (!indexes.has(value)) {
      path.push(enter(value));
    } else if (!components.has(value)) {
      lower(node, indexes.get(value));
    }
    yield;
  }

  for (const start of starts) {
    const path = indexes.has(start) ? [] : [enter(start)];
    while (path.length > 0) yield* walk(path);
  }
  return components;
}

/**
 * The same, without interruption.
 * @template N
 * @param {Iterable<N>} starts
 * @param {(node: N) => Iterable<N>} next
 * @returns {Map<N, N[]>}
 */
const findStrongComponents = (starts, next) => runAtOnce(strongComponents(starts, next));

module.exports = { findStrongComponents, strongComponents };
