import { useEffect, useRef, useState } from 'preact/hooks';
import { useAnswer } from './feed.mjs';
import { count, duration, escaped, html, rate, shown, who } from './format.mjs';

/** @typedef {import('./types.d.ts').LockView} LockView */
/** @typedef {import('./types.d.ts').Picture} Picture */

/** @type {{ title: string, isNumber?: boolean, value: (lock: LockView) => number | string }[]} */
const COLUMNS = [
  { title: 'Lock', value: ({ name }) => name },
  { title: 'Waiting', isNumber: true, value: ({ waiting }) => waiting },
  { title: 'Longest wait', isNumber: true, value: ({ oldestWait }) => oldestWait },
  { title: 'Grants a second', isNumber: true, value: (lock) => lock.rate },
  { title: 'Held by', value: ({ held }) => held },
  { title: 'Held for', isNumber: true, value: ({ oldestHold }) => oldestHold },
];

const SHOWN = 50;
const NOT_RUNNING = new Set(['stopped', 'traced', 'frozen', 'zombie', 'gone']);

const compare = (/** @type {any} */ a, /** @type {any} */ b) => (a < b ? -1 : Number(a > b));

/**
 * Equal rows stand by name: the table's own order differs from table to table.
 * @param {LockView[]} locks
 * @param {{ column: number, isUp: boolean }} order
 */
function sorted(locks, { column, isUp }) {
  const { value } = COLUMNS[column];
  const sign = isUp ? 1 : -1;
  return [...locks].sort((a, b) => sign * compare(value(a), value(b)) || compare(a.name, b.name));
}

/**
 * The locks with a text in their names. If the picture has only a part of the locks, the server
 * searches all of them.
 * @param {Picture} picture
 * @param {string} text
 * @returns {{ total: number, locks: LockView[], isSearching: boolean }}
 */
function useMatches({ locks, totals, number }, text) {
  const isPart = locks.length < totals.names;
  const isRequested = isPart && text !== '';
  const answer = useAnswer(isRequested ? `locks?text=${encodeURIComponent(text)}` : '', number);
  if (answer !== undefined) return { ...answer, isSearching: false };
  const wanted = text.toLowerCase();
  const matches = locks.filter(({ name }) => name.toLowerCase().includes(wanted));
  const total = text === '' ? totals.names : matches.length;
  return { total, locks: matches, isSearching: isRequested };
}

/** @param {Picture} picture @param {boolean} isSearching */
function noLocks({ totals }, isSearching) {
  if (totals.names === 0) return 'No lock is used.';
  return isSearching ? 'Searching …' : 'No lock has this text in its name.';
}

/** @param {{ lock: LockView }} properties */
function Holder({ lock }) {
  const [first] = lock.holders;
  if (first === undefined) return html`<td></td>`;
  const more = lock.held > 1 ? ` and ${lock.held - 1} more` : '';
  const label = first.label === '' ? first.command : first.label;
  return html`<td class="holder" title=${escaped(first.command)}>
    ${who(first)}${more}
    ${NOT_RUNNING.has(first.processState) && html` <strong class="bad">${first.processState}</strong>`}
    ${label !== '' && html` <span class="soft">${escaped(label)}</span>`}
  </td>`;
}

/** @param {{ lock: LockView, onOpen: (name: string) => void }} properties */
const Row = ({ lock, onOpen }) => html`
  <tr class=${lock.isDeadlocked ? 'deadlocked' : ''}>
    <th scope="row">
      <button type="button" class="name" onClick=${() => onOpen(lock.name)}>
        ${shown(lock.name)}
      </button>
      ${lock.isDeadlocked && html` <strong class="bad">deadlock</strong>`}
    </th>
    <td class="number">${count(lock.waiting)}</td>
    <td class="number">${lock.waiting === 0 ? '' : duration(lock.oldestWait)}</td>
    <td class="number">${rate(lock.rate)}</td>
    <${Holder} lock=${lock} />
    <td class="number">${lock.held === 0 ? '' : duration(lock.oldestHold)}</td>
  </tr>
`;

/** @param {{ picture: Picture, onOpen: (name: string) => void }} properties */
export function Locks({ picture, onOpen }) {
  const [order, setOrder] = useState({ column: 1, isUp: false });
  const [filter, setFilter] = useState('');
  const [most, setMost] = useState(SHOWN);
  const { total, locks, isSearching } = useMatches(picture, filter);
  const rows = sorted(locks, order);
  const sortBy = (/** @type {number} */ column) =>
    setOrder({ column, isUp: order.column === column ? !order.isUp : column === 0 });
  const direction = (/** @type {number} */ column) => {
    if (order.column !== column) return undefined;
    return order.isUp ? 'ascending' : 'descending';
  };
  return html`<section id="locks" tabindex="-1" aria-labelledby="locks-title">
    <h2 id="locks-title">Locks</h2>
    <p class="tools">
      <label
        >Filter
        <input
          type="search"
          value=${filter}
          onInput=${(/** @type {any} */ event) => setFilter(event.target.value)}
      /></label>
      <span class="soft">${count(total)} of ${count(picture.totals.names)} locks</span>
      ${isSearching && html`<span class="soft">searching …</span>`}
      ${
        rows.length < total &&
        html`<span class="soft">listed: the ${count(rows.length)} with the longest queues</span>`
      }
    </p>
    <div class="scroll" tabindex="0" role="group" aria-label="Table of locks">
      <table>
        <thead>
          <tr>
            ${COLUMNS.map(
              ({ title, isNumber }, at) =>
                html`<th scope="col" aria-sort=${direction(at)} class=${isNumber ? 'number' : ''}>
                  <button type="button" onClick=${() => sortBy(at)}>
                    ${title}<span aria-hidden="true"
                      >${order.column === at ? (order.isUp ? ' ▲' : ' ▼') : ''}</span
                    >
                  </button>
                </th>`,
            )}
          </tr>
        </thead>
        <tbody>
          ${rows.slice(0, most).map((lock) => html`<${Row} key=${lock.name} lock=${lock} onOpen=${onOpen} />`)}
        </tbody>
      </table>
    </div>
    ${rows.length === 0 && html`<p class="soft">${noLocks(picture, isSearching)}</p>`}
    ${
      rows.length > most &&
      html`<button type="button" onClick=${() => setMost(most + SHOWN)}>Show ${SHOWN} more</button>`
    }
  </section>`;
}

/** @typedef {import('./types.d.ts').Request} Request */

/** @param {{ title: string, requests: Request[], total: number, isHeld: boolean }} properties */
const Requests = ({ title, requests, total, isHeld }) => html`
  <h3>
    ${title}: ${requests.length < total ? `${count(requests.length)} of ` : ''}${count(total)}
  </h3>
  ${
    requests.length > 0 &&
    html`<table>
      <thead>
        <tr>
          <th scope="col">Client</th>
          <th scope="col">Mode</th>
          <th scope="col" class="number">For</th>
          <th scope="col">Process</th>
          <th scope="col">Label</th>
          <th scope="col">Call site</th>
          <th scope="col">Command</th>
        </tr>
      </thead>
      <tbody>
        ${requests.map(
          (request, at) =>
            html`<tr key=${at}>
              <td>${who(request)}</td>
              <td>${request.mode}${request.limit !== null ? ` (${request.limit})` : ''}</td>
              <td class="number">${duration(isHeld ? request.held : request.waited)}</td>
              <td>${request.processState}</td>
              <td>${escaped(request.label)}</td>
              <td>${escaped(request.callSite)}</td>
              <td class="command" title=${escaped(request.command)}>${escaped(request.command)}</td>
            </tr>`,
        )}
      </tbody>
    </table>`
  }
`;

/** @param {{ name: string, number: number | undefined, onClose: () => void }} properties */
export function LockDialog({ name, number, onClose }) {
  const dialog = useRef(/** @type {HTMLDialogElement | null} */ (null));
  const lock = useAnswer(`lock?name=${encodeURIComponent(name)}`, number);
  useEffect(() => dialog.current?.showModal(), []);
  return html`<dialog ref=${dialog} onClose=${onClose} aria-labelledby="lock-title">
    <h2 id="lock-title">${shown(name)}</h2>
    <div class="requests" tabindex="0" role="group" aria-label="Requests">
      ${
        lock &&
        html`<${Requests}
            title="Held by"
            requests=${lock.held}
            total=${lock.totals.held}
            isHeld=${true}
          />
          <${Requests}
            title="Waiting, in order"
            requests=${lock.pending}
            total=${lock.totals.pending}
            isHeld=${false}
          />`
      }
    </div>
    <form method="dialog"><button>Close</button></form>
  </dialog>`;
}
