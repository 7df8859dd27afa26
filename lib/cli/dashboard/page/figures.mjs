import { count, duration, rate } from './format.mjs';
import { html } from './html.mjs';

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
export function Figures({ picture }) {
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
