// The page of the dashboard: follows the live feed and draws it.

import { render } from 'preact';
import 'uplot/dist/uPlot.min.css';
import './colors.css';
import './page.css';
import './tables.css';
import './drawings.css';
import { App } from './app.mjs';
import { html } from './html.mjs';

render(html`<${App} />`, /** @type {Element} */ (document.getElementById('page')));
