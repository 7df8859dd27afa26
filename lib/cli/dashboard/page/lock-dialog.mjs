import { useEffect, useRef } from 'preact/hooks';
import { useAnswer } from './answer.mjs';
import { count, duration, escaped, shown, who } from './format.mjs';
import { html } from './html.mjs';

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
