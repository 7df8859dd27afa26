'use strict';

// Takes pictures of a page and of a terminal, in the browser that the tests of the dashboard use.

const { readFileSync } = require('node:fs');
const { createRequire } = require('node:module');
const path = require('node:path');
const { ROOT } = require('../steps/run.js');

/** Where the packages are that need a browser. */
const PACKAGES = path.join(ROOT, 'test', 'dashboard');
const requirePackage = createRequire(path.join(PACKAGES, 'package.json'));

/** @typedef {'light' | 'dark'} Scheme */

/** Colours of the dashboard, for the terminal beside it. */
const THEMES = {
  light: {
    background: '#ffffff',
    foreground: '#1b2330',
    red: '#c0192d',
    green: '#1a7f46',
    yellow: '#a35a00',
  },
  dark: {
    background: '#181e28',
    foreground: '#e6eaf1',
    red: '#ff8b94',
    green: '#5bd08c',
    yellow: '#f0aa4d',
  },
};

/** A terminal in the page: xterm.js draws what it is given. Runs in the browser. */
const SHOW_TERMINAL = `async ({ text, columns, rows, theme }) => {
  const box = { margin: 0, display: 'inline-block', padding: '14px' };
  Object.assign(document.body.style, box, { background: theme.background });
  const look = { fontFamily: '"DejaVu Sans Mono", monospace', fontSize: 14, theme };
  const terminal = new Terminal({ ...look, cols: columns, rows, cursorInactiveStyle: 'none' });
  terminal.open(document.body);
  await new Promise((resolve) => terminal.write(text, resolve));
  const frame = () => new Promise(requestAnimationFrame);
  await frame();
  await frame();
}`;

/**
 * @param {{ text: string, columns: number, rows: number }} screen  text: lines with the escape
 *   sequences of their colours
 * @param {Scheme} scheme
 * @param {string} file
 */
async function photographTerminal(screen, scheme, file) {
  const { launch } = require(path.join(PACKAGES, 'browser.js'));
  const browser = await launch();
  const page = await browser.newPage({ viewport: { width: 1600, height: 1200 } });
  const xterm = path.dirname(requirePackage.resolve('@xterm/xterm/package.json'));
  await page.addStyleTag({ content: readFileSync(path.join(xterm, 'css/xterm.css'), 'utf8') });
  await page.addScriptTag({ content: readFileSync(path.join(xterm, 'lib/xterm.js'), 'utf8') });
  await page.evaluate(
    `(${SHOW_TERMINAL})(${JSON.stringify({ ...screen, theme: THEMES[scheme] })})`,
  );
  await page.locator('body').screenshot({ path: file });
  await browser.close();
}

/**
 * Opens the dashboard; it remembers what happens from then on.
 * @param {string} url
 * @param {Scheme} scheme
 * @returns {Promise<(file: string) => Promise<void>>}  takes the picture
 */
async function openDashboard(url, scheme) {
  const { openPage } = require(path.join(PACKAGES, 'browser.js'));
  const viewport = { width: 1180, height: 900 };
  const { browser, page } = await openPage(url, { colorScheme: scheme, viewport });
  return async (file) => {
    await page.screenshot({ path: file, fullPage: true });
    await browser.close();
  };
}

module.exports = { PACKAGES, openDashboard, photographTerminal };
