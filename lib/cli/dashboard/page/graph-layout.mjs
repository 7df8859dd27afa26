// The wait-for graph as boxes and arrows, placed by dagre.

import dagre from '@dagrejs/dagre';
import { duration, shown, who } from './format.mjs';

/** @typedef {import('./types.d.ts').GraphLock} GraphLock */
/** @typedef {import('./types.d.ts').Request} Request */
/**
 * @typedef {{ id: string, kind: 'lock' | 'agent' | 'more', text: string, detail: string, isStuck:
 *   boolean, x: number, y: number, width: number, height: number, name?: string }} Box
 */
/**
 * @typedef {{ from: string, to: string, kind: 'holds' | 'waits', isStuck: boolean, points: { x:
 *   number, y: number }[] }} Arrow
 */

const CHARACTER = 7.4;
const MAX_TEXT = 28;
const HEIGHT = 40;

const WORDS = { holds: 'holding', waits: 'waiting' };

/** @param {string} text */
const short = (text) => (text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT - 1)}…` : text);

/** @param {Request} request */
const agentId = ({ clientId }) => `agent ${clientId}`;

/** @param {Request} request @returns {Partial<Box>} */
const agentBox = (request) => ({
  kind: 'agent',
  text: who(request),
  detail: short(shown(request.label || request.command || request.processState)),
});

/**
 * @param {GraphLock[]} locks
 * @returns {{ boxes: Box[], arrows: Arrow[], width: number, height: number }}
 */
export function layOut(locks) {
  const graph = new dagre.graphlib.Graph();
  graph.setGraph({ rankdir: 'LR', nodesep: 14, ranksep: 60, marginx: 8, marginy: 8 });
  graph.setDefaultEdgeLabel(() => ({}));
  const addBox = (/** @type {string} */ id, /** @type {any} */ box) => {
    const length = Math.max(box.text.length, box.detail.length);
    graph.setNode(id, { id, width: length * CHARACTER + 24, height: HEIGHT, ...box });
  };
  for (const lock of locks) {
    const id = `lock ${lock.name}`;
    const detail = lock.isDeadlocked
      ? 'deadlock'
      : `${lock.waiters.length + lock.moreWaiters} waiting`;
    addBox(id, {
      kind: 'lock',
      text: short(shown(lock.name)),
      detail,
      isStuck: lock.isDeadlocked,
      name: lock.name,
    });
    for (const holder of lock.holders) {
      addBox(agentId(holder), { ...agentBox(holder), isStuck: lock.isDeadlocked });
      graph.setEdge(id, agentId(holder), { kind: 'holds', isStuck: lock.isDeadlocked });
    }
    for (const waiter of lock.waiters) {
      addBox(agentId(waiter), { ...agentBox(waiter), isStuck: lock.isDeadlocked });
      graph.setEdge(agentId(waiter), id, {
        kind: 'waits',
        isStuck: lock.isDeadlocked,
        detail: duration(waiter.waited),
      });
    }
    const addMore = (/** @type {'holds' | 'waits'} */ kind, /** @type {number} */ more) => {
      if (more === 0) return;
      const other = `more ${kind} ${lock.name}`;
      const [from, to] = kind === 'holds' ? [id, other] : [other, id];
      addBox(other, { kind: 'more', text: `${more} more`, detail: WORDS[kind] });
      graph.setEdge(from, to, { kind, isStuck: false });
    };
    addMore('holds', lock.moreHolders);
    addMore('waits', lock.moreWaiters);
  }
  dagre.layout(graph);
  const { width = 0, height = 0 } = graph.graph();
  return {
    boxes: graph.nodes().map((/** @type {string} */ id) => /** @type {any} */ (graph.node(id))),
    arrows: graph.edges().map((/** @type {{ v: string, w: string }} */ edge) => ({
      from: edge.v,
      to: edge.w,
      .../** @type {any} */ (graph.edge(edge)),
    })),
    width,
    height,
  };
}
