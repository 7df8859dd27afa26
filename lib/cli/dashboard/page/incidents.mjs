import { clock, count, duration, shown, who } from './format.mjs';
import { html } from './html.mjs';

/** @typedef {import('./types.d.ts').Picture} Picture */
/** @typedef {import('./types.d.ts').Incident} Incident */

/** @param {Picture['deadlocks'][number]['members'][number]} member */
function heldBy({ holders, moreHolders }) {
  const texts = holders.map((holder) => `${who(holder)} for ${duration(holder.held)}`);
  return texts.join('; ') + (moreHolders > 0 ? ` and ${count(moreHolders)} more` : '');
}

/**
 * Announces each deadlock once: its times, which change all the time, are no part of the alert.
 * @param {{ deadlocks: Picture['deadlocks'], more: number }} properties
 */
export function Deadlocks({ deadlocks, more }) {
  return html`<div class=${deadlocks.length > 0 ? 'alert' : ''}>
    <div role="alert">
      ${deadlocks.map(({ size }, at) => html`<strong key=${at}>Deadlock of ${size}. </strong>`)}
    </div>
    ${
      deadlocks.length > 0 &&
      html`<div class="scroll short" tabindex="0" role="group" aria-label="Deadlocks">
        ${deadlocks.map(
          ({ size, behind, members }, at) =>
            html`<ul key=${at}>
              ${members.map(
                (member) =>
                  html`<li key=${member.clientId + member.name}>
                    ${who(member)} waits for <code>${shown(member.name)}</code> for
                    ${` ${duration(member.waited)}, held by ${heldBy(member)}`}
                  </li>`,
              )}
              ${size > members.length && html`<li>and ${count(size - members.length)} more</li>`}
              ${behind > 0 && html`<li>and ${count(behind)} more wait behind it</li>`}
            </ul>`,
        )}
        ${more > 0 && html`<p>and ${count(more)} more deadlocks</p>`}
        <p>
          To end one: <code>holdfast steal NAME</code> of one of its locks, or end one of its
          processes. <code>requestAll()</code> and <code>deadlock: 'reject'</code> prevent it.
        </p>
      </div>`
    }
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
