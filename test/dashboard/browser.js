'use strict';

const { chromium } = require('playwright-core');

/** No connection to anywhere else: neither of the page, nor of the browser itself. */
const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/** The browser of the system. */
const launch = () =>
  chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: FLAGS });

/** A page of the dashboard in Chromium, and what went wrong in it. */
async function openPage(
  url,
  { colorScheme = 'light', viewport = { width: 1280, height: 900 } } = {},
) {
  const browser = await launch();
  const page = await browser.newPage({ colorScheme, viewport });
  const problems = [];
  const requests = [];
  page.on('console', (message) => {
    if (message.type() !== 'log') problems.push(message.text());
  });
  page.on('pageerror', (error) => problems.push(error.stack));
  page.on('request', (request) => requests.push(request.url()));
  await page.goto(url);
  await page.getByRole('status').getByText('live').waitFor();
  return { browser, page, problems, requests };
}

module.exports = { launch, openPage };
