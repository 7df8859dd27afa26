import { clock, count, shown, who } from './format.mjs';
import { html } from './html.mjs';

/** @typedef {import('./types.d.ts').Picture} Picture */
/** @typedef {import('./types.d.ts').Incident} Incident */

/** @param {{ deadlocks: Picture['deadlocks'] }} properties */
export function Deadlocks({ deadlocks }) {
  return html`<div role="alert" class="alerts">
    ${deadlocks.map(
      ({ isCertain, members }, at) =>
        html`<div class="alert" key=${at}>
          <strong>${isCertain ? 'Deadlock' : 'Possible deadlock'} of ${members.length}:</strong>
          <ul>
            ${members.map(
              (member) =>
                html`<li key=${member.clientId + member.name}>
                  ${who(member)} waits for <code>${shown(member.name)}</code>
                </li>`,
            )}
          </ul>
        </div>`,
    )}
  </div>`;
}

const WORDS = /** @type {Record<string, string>} */ ({
  died: 'ended with its thread or process',
  stolen: 'was taken away by a steal',
  expired: 'was taken away at its hold limit',
  timedout: 'left the queue: timeout',
});

/** @param {{ incidents: Incident[], counts: Picture['counts'] }} properties */
export function Incidents({ incidents, counts }) {
  return html`<section aria-labelledby="incidents-title">
    <h2 id="incidents-title">Incidents</h2>
    <p class="legend">
      ${`${count(counts.deaths)} deaths, ${count(counts.steals)} steals, ${count(counts.expiries)} expired, `}
      ${`${count(counts.timeouts)} timed out since the page was opened`}
    </p>
    <div class="scroll short" tabindex="0" role="group" aria-label="Table of incidents">
      <table>
        <tbody>
          ${incidents.slice(0, 100).map(
            ({ type, name, pid, host, threadId, time }, at) =>
              html`<tr key=${at}>
                <td class="number">${clock(time)}</td>
                <td><span class="tag ${type}">${type}</span></td>
                <th scope="row">${shown(name)}</th>
                <td>${who({ pid, host, threadId })}: ${WORDS[type]}</td>
              </tr>`,
          )}
        </tbody>
      </table>
      ${incidents.length === 0 && html`<p class="soft">None.</p>`}
    </div>
  </section>`;
}
