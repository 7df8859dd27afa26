// The page of the dashboard: follows the live feed and draws it.

import { useCallback, useEffect, useState } from 'preact/hooks';
import { render } from 'preact';
import 'uplot/dist/uPlot.min.css';
import { clock, count, duration, html, rate, shown, who } from './format.mjs';
import { HistogramChart, RateChart, Timeline } from './charts.mjs';
import { useFeed } from './feed.mjs';
import { Graph } from './graph.mjs';
import { LockDialog, Locks } from './locks.mjs';
import './colors.css';
import './page.css';
import './tables.css';
import './drawings.css';

const THEMES = ['system', 'light', 'dark'];
const KEY = 'holdfast-theme';

function storedTheme() {
  try {
    return localStorage.getItem(KEY) ?? 'system';
  } catch {
    return 'system'; // storage is switched off
  }
}

/** @returns {[string, () => void]} the theme, and what goes to the next one */
function useTheme() {
  const [theme, setTheme] = useState(storedTheme);
  useEffect(() => {
    document.documentElement.dataset.theme = theme;
    try {
      localStorage.setItem(KEY, theme);
    } catch {
      return; // it lasts as long as the page, then
    }
  }, [theme]);
  return [theme, () => setTheme(THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length])];
}

const NEARLY_FULL = 0.8;

/** @param {{ label: string, value: string, isBad?: boolean, hint?: string }} properties */
const Figure = ({ label, value, isBad = false, hint = '' }) => html`
  <div class=${isBad ? 'figure bad' : 'figure'}>
    <dt>${label}</dt>
    <dd>${value}<small>${hint}</small></dd>
  </div>
`;

/** @param {number} part @param {number} of */
const share = (part, of) => `of ${count(of)} (${Math.round((part / of) * 100)} %)`;

/** @param {{ label: string, part: number, of: number }} properties */
const Fill = ({ label, part, of }) => html`
  <${Figure}
    label=${label}
    value=${count(part)}
    hint=${share(part, of)}
    isBad=${part >= of * NEARLY_FULL}
  />
`;

/** @param {{ picture: import('./types.d.ts').Picture }} properties */
function Figures({ picture }) {
  const { totals, rates, counts, usage, missed, isSampled } = picture;
  return html`<section aria-labelledby="figures-title">
    <h2 id="figures-title" class="hidden">Figures</h2>
    <dl class="figures">
      <${Figure} label="Locks" value=${count(totals.names)} />
      <${Figure} label="Held" value=${count(totals.held)} />
      <${Figure}
        label="Waiting"
        value=${count(totals.pending)}
        hint=${`longest ${duration(totals.oldestWait)}`}
      />
      <${Figure}
        label="Grants a second"
        value=${rate(rates.grants)}
        hint=${isSampled ? 'times and single locks: of a sample' : ''}
      />
      <${Figure} label="Deaths" value=${count(counts.deaths)} isBad=${rates.deaths > 0} />
      <${Figure} label="Stolen" value=${count(counts.steals)} isBad=${rates.steals > 0} />
      <${Figure} label="Expired" value=${count(counts.expiries)} isBad=${rates.expiries > 0} />
      <${Figure} label="Timed out" value=${count(counts.timeouts)} />
      ${usage && html`<${Fill} label="Table cells" part=${usage.usedCells} of=${usage.maxCells} />`}
      ${usage && html`<${Fill} label="Processes" part=${usage.processes} of=${usage.maxProcesses} />`}
      ${usage && html`<${Fill} label="Threads" part=${usage.agents} of=${usage.maxAgents} />`}
      ${missed > 0 && html`<${Figure} label="Events missed" value=${count(missed)} />`}
    </dl>
  </section>`;
}

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
function Deadlocks({ deadlocks, more }) {
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
function Incidents({ incidents, counts }) {
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

const STATES = {
  connecting: 'connecting …',
  live: 'live',
  lost: 'the connection is lost; trying again …',
  failed: 'the lock table cannot be watched',
};

/** @param {{ feed: import('./types.d.ts').Feed, isPaused: boolean }} properties */
function Connection({ feed, isPaused }) {
  const text = isPaused ? 'paused' : STATES[feed.state];
  const detail = feed.state === 'failed' ? `: ${feed.message}` : '';
  return html`<span class="connection ${isPaused ? 'paused' : feed.state}" role="status"
    >${text}${detail}</span
  >`;
}

function App() {
  const [isPaused, setPaused] = useState(false);
  const [opened, setOpened] = useState(/** @type {string | undefined} */ (undefined));
  const [theme, nextTheme] = useTheme();
  const feed = useFeed(isPaused);
  const open = useCallback((/** @type {string} */ name) => setOpened(name), []);
  const { picture } = feed;
  return html`
    <a class="skip" href="#locks">Skip to the locks</a>
    <header>
      <h1>holdfast</h1>
      <span class="address">${picture?.address}</span>
      <${Connection} feed=${feed} isPaused=${isPaused} />
      <span class="space"></span>
      <button type="button" aria-pressed=${isPaused} onClick=${() => setPaused(!isPaused)}>
        ${isPaused ? 'Resume' : 'Pause'}
      </button>
      <button type="button" onClick=${nextTheme}>Theme: ${theme}</button>
    </header>
    ${
      picture &&
      html`<main>
        <${Deadlocks} deadlocks=${picture.deadlocks} more=${picture.moreDeadlocks} />
        <${Figures} picture=${picture} />
        <div class="columns">
          <${RateChart} moments=${feed.moments} theme=${theme} />
          <${HistogramChart}
            id="waits"
            title="Waited before the grant"
            data=${picture.waits}
            theme=${theme}
          />
          <${HistogramChart} id="holds" title="Held" data=${picture.holds} theme=${theme} />
        </div>
        <${Locks} picture=${picture} onOpen=${open} />
        <${Graph} graph=${picture.graph} onOpen=${open} />
        <${Timeline} moments=${feed.moments} picture=${picture} />
        <${Incidents} incidents=${feed.incidents} counts=${picture.counts} />
      </main>`
    }
    ${
      opened !== undefined &&
      html`<${LockDialog}
        name=${opened}
        number=${picture?.number}
        onClose=${() => setOpened(undefined)}
      />`
    }
  `;
}

render(html`<${App} />`, /** @type {Element} */ (document.getElementById('page')));
