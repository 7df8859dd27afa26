'use strict';

const fc = require('fast-check');
const { findStrongComponents } = require('../../lib/locks/deadlock/wait-graph.js');

const SEED = Number(process.env.HOLDFAST_SEED ?? Math.floor(Math.random() * 2 ** 31));

/** The components of a graph that is given as { node: 'its successors' }. */
function componentsOf(graph) {
  const components = findStrongComponents(Object.keys(graph), (node) => graph[node]);
  return [...new Set(components.values())].map((component) => [...component].sort());
}

test.each([
  ['a node alone', { a: '' }, [['a']]],
  ['a chain', { a: 'b', b: 'c', c: '' }, [['c'], ['b'], ['a']]],
  ['a cycle', { a: 'b', b: 'c', c: 'a' }, [['a', 'b', 'c']]],
  ['a node that leads to itself', { a: 'a' }, [['a']]],
  ['two cycles that meet', { a: 'b', b: 'ac', c: 'b' }, [['a', 'b', 'c']]],
  [
    'two cycles, one before the other',
    { a: 'b', b: 'ac', c: 'd', d: 'c' },
    [
      ['c', 'd'],
      ['a', 'b'],
    ],
  ],
])('%s', (_, graph, components) => {
  expect(componentsOf(graph)).toEqual(components);
});

test('a long path needs no deep stack', () => {
  const length = 100_000;
  const components = findStrongComponents([0], (node) => [(node + 1) % length]);
  expect(components.get(0)).toHaveLength(length);
});

/** Whether one node can reach another. */
function reaches(edges, from, to) {
  const found = new Set([from]);
  for (const node of found) for (const [a, b] of edges) if (a === node) found.add(b);
  return found.has(to);
}

test(`nodes are together when each can reach the other (HOLDFAST_SEED=${SEED})`, () => {
  const node = fc.integer({ min: 0, max: 6 });
  fc.assert(
    fc.property(fc.array(fc.tuple(node, node), { maxLength: 14 }), (edges) => {
      const next = (from) => edges.filter(([a]) => a === from).map(([, b]) => b);
      const nodes = [0, 1, 2, 3, 4, 5, 6];
      const components = findStrongComponents(nodes, next);
      for (const a of nodes) {
        for (const b of nodes) {
          const isTogether = reaches(edges, a, b) && reaches(edges, b, a);
          expect(components.get(a) === components.get(b)).toBe(isTogether);
        }
      }
    }),
    { seed: SEED, numRuns: 500 },
  );
});
