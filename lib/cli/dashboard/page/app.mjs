import { useCallback, useState } from 'preact/hooks';
import { RateChart, HistogramChart } from './charts.mjs';
import { Deadlocks, Incidents } from './incidents.mjs';
import { useFeed } from './feed.mjs';
import { Figures } from './figures.mjs';
import { Graph } from './graph.mjs';
import { html } from './html.mjs';
import { LockDialog } from './lock-dialog.mjs';
import { Locks } from './locks.mjs';
import { Timeline } from './timeline.mjs';
import { useTheme } from './theme.mjs';

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

export function App() {
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
      <span class="place">${picture?.place}</span>
      <${Connection} feed=${feed} isPaused=${isPaused} />
      <span class="space"></span>
      <button type="button" aria-pressed=${isPaused} onClick=${() => setPaused(!isPaused)}>
        ${isPaused ? 'Go on' : 'Pause'}
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
