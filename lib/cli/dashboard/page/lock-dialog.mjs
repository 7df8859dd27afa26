import { useEffect, useRef, useState } from 'preact/hooks';
import { count, duration, escaped, shown, who } from './format.mjs';
import { html } from './html.mjs';

/** @typedef {import('./types.d.ts').Request} Request */

/** @param {{ title: string, requests: Request[], isHeld: boolean }} properties */
const Requests = ({ title, requests, isHeld }) => html`
  <h3>${title}: ${count(requests.length)}</h3>
  ${
    requests.length > 0 &&
    html`<table>
      <thead>
        <tr>
          <th scope="col">Who</th>
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
              <td>${request.mode}${request.limit > 0 ? ` (${request.limit})` : ''}</td>
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
  const [lock, setLock] = useState(/** @type {any} */ (undefined));
  useEffect(() => dialog.current?.showModal(), []);
  const isAsking = useRef(false);
  useEffect(() => {
    if (isAsking.current) return; // a busy server is not asked twice at a time
    isAsking.current = true;
    fetch(`lock?name=${encodeURIComponent(name)}`)
      .then((response) => response.json())
      .then(setLock)
      .catch(() => {}) // the next picture asks again; the head of the page tells of failures
      .finally(() => {
        isAsking.current = false;
      });
  }, [name, number]);
  return html`<dialog ref=${dialog} onClose=${onClose} aria-labelledby="lock-title">
    <h2 id="lock-title">${shown(name)}</h2>
    ${
      lock &&
      html`<${Requests} title="Held by" requests=${lock.held} isHeld=${true} />
        <${Requests} title="Waiting, in order" requests=${lock.pending} isHeld=${false} />`
    }
    <form method="dialog"><button>Close</button></form>
  </dialog>`;
}
