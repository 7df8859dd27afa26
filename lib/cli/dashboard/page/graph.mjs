// The wait-for graph as boxes and arrows, placed by dagre.

import dagre from '@dagrejs/dagre';
import { useMemo } from 'preact/hooks';
import { count, duration, html, shown, who } from './format.mjs';

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
const BOX_HEIGHT = 40;

const RELATIONS = { holds: 'holding', waits: 'waiting' };

/** @param {string} text */
const shortened = (text) => (text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT - 1)}…` : text);

/** @param {Request} request */
const agentId = ({ clientId }) => `agent ${clientId}`;

/** @param {Request} request @returns {Partial<Box>} */
const agentBox = (request) => ({
  kind: 'agent',
  text: who(request),
  detail: shortened(shown(request.label || request.command || request.processState)),
});

/**
 * @param {GraphLock[]} locks
 * @returns {{ boxes: Box[], arrows: Arrow[], width: number, height: number }}
 */
function layOut(locks) {
  const graph = new dagre.graphlib.Graph();
  graph.setGraph({ rankdir: 'LR', nodesep: 14, ranksep: 60, marginx: 8, marginy: 8 });
  graph.setDefaultEdgeLabel(() => ({}));
  const addBox = (/** @type {string} */ id, /** @type {any} */ box) => {
    const length = Math.max(box.text.length, box.detail.length);
    graph.setNode(id, { id, width: length * CHARACTER + 24, height: BOX_HEIGHT, ...box });
  };
  for (const lock of locks) {
    const id = `lock ${lock.name}`;
    const detail = lock.isDeadlocked
      ? 'deadlock'
      : `${lock.waiters.length + lock.moreWaiters} waiting`;
    addBox(id, {
      kind: 'lock',
      text: shortened(shown(lock.name)),
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
      addBox(other, { kind: 'more', text: `${more} more`, detail: RELATIONS[kind] });
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

/** @typedef {import('./types.d.ts').Picture['graph']} GraphData */

/**
 * The values that decide the layout, which is made anew only when they change.
 * @param {GraphLock[]} locks
 */
const shapeOf = (locks) =>
  JSON.stringify(
    locks.map(({ name, isDeadlocked, holders, waiters, moreWaiters, moreHolders }) => [
      name,
      isDeadlocked,
      holders.map(({ clientId }) => clientId),
      waiters.map(({ clientId }) => clientId),
      moreWaiters,
      moreHolders,
    ]),
  );

/** @param {{ box: Box }} properties */
const BoxView = ({ box }) => html`
  <g class="box ${box.kind} ${box.isStuck ? 'stuck' : ''}" transform="translate(${box.x} ${box.y})">
    <rect
      x=${-box.width / 2}
      y=${-box.height / 2}
      width=${box.width}
      height=${box.height}
      rx=${box.kind === 'lock' ? box.height / 2 : 5}
    />
    <text y="-3">${box.text}</text>
    <text class="detail" y="13">${box.detail}</text>
  </g>
`;

/** @param {{ arrow: Arrow }} properties */
const ArrowView = ({ arrow }) => html`
  <path
    class="arrow ${arrow.kind} ${arrow.isStuck ? 'stuck' : ''}"
    d=${arrow.points.map(({ x, y }, at) => `${at === 0 ? 'M' : 'L'}${x} ${y}`).join(' ')}
    marker-end="url(#${arrow.isStuck ? 'tip-stuck' : 'tip'})"
  />
`;

/** @param {{ id: string }} properties */
const Tip = ({ id }) => html`
  <marker
    id=${id}
    viewBox="0 0 8 8"
    refX="7"
    refY="4"
    markerWidth="7"
    markerHeight="7"
    orient="auto"
  >
    <path d="M0 0L8 4L0 8z" />
  </marker>
`;

/**
 * The same in words, for screen readers.
 * @param {{ lock: GraphLock, onOpen: (name: string) => void }} properties
 */
const Words = ({ lock, onOpen }) =>
  html`<li>
    <button type="button" class="name" onClick=${() => onOpen(lock.name)}>
      ${shown(lock.name)}
    </button>
    ${lock.isDeadlocked && html` <strong class="bad">deadlock</strong>`} ${' '}is held by
    ${lock.holders.map((one) => `${who(one)} (${duration(one.held)})`).join('; ') || 'no process'}
    ${lock.moreHolders > 0 ? ` and ${count(lock.moreHolders)} more` : ''}; ${' '}waiting:
    ${lock.waiters.map((one) => `${who(one)} (${duration(one.waited)})`).join('; ')}
    ${lock.moreWaiters > 0 ? ` and ${count(lock.moreWaiters)} more` : ''}
  </li>`;

/** @param {{ graph: GraphData, onOpen: (name: string) => void }} properties */
export function Graph({ graph, onOpen }) {
  const layout = useMemo(() => layOut(graph.locks), [shapeOf(graph.locks)]);
  return html`<section aria-labelledby="graph-title">
    <h2 id="graph-title">Waits between locks</h2>
    ${
      graph.locks.length === 0
        ? html`<p class="soft">No request waits for a lock.</p>`
        : html`
            <div
              class="scroll"
              tabindex="0"
              role="region"
              aria-label="Drawing of the waits between locks"
            >
              <svg class="graph" width=${layout.width} height=${layout.height} aria-hidden="true">
                <defs>
                  <${Tip} id="tip" />
                  <${Tip} id="tip-stuck" />
                </defs>
                ${layout.arrows.map((arrow) => html`<${ArrowView} key=${`${arrow.from}>${arrow.to}`} arrow=${arrow} />`)}
                ${layout.boxes.map((box) => html`<${BoxView} key=${box.id} box=${box} />`)}
              </svg>
            </div>
            ${graph.left > 0 && html`<p class="soft">${count(graph.left)} more locks are waited for.</p>`}
            <details>
              <summary>In words</summary>
              <ul>
                ${graph.locks.map((lock) => html`<${Words} key=${lock.name} lock=${lock} onOpen=${onOpen} />`)}
              </ul>
            </details>
          `
    }
  </section>`;
}
