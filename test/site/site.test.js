'use strict';

// The built documentation site in a real browser: it finds its pages, searches, is dark where that
// is asked for, fits a telephone, and asks no other machine for anything.

const { existsSync, mkdirSync, readFileSync, readdirSync } = require('node:fs');
const { createServer } = require('node:http');
const { once } = require('node:events');
const path = require('node:path');
const { chromium } = require('../dashboard/node_modules/playwright-core');

const ROOT = path.resolve(__dirname, '..', '..');
const SITE = path.join(ROOT, 'build', 'site');
const SHOTS = path.join(ROOT, 'build', 'site-shots');
const TYPES = { '.html': 'text/html', '.css': 'text/css', '.svg': 'image/svg+xml' };
const FLAGS = ['--no-sandbox', '--disable-gpu', '--disable-background-networking'];

let server;
let origin;
let browser;
beforeAll(async () => {
  mkdirSync(SHOTS, { recursive: true });
  server = createServer(({ url }, response) => {
    const { pathname } = new URL(url, 'http://site');
    const file = path.join(SITE, pathname.endsWith('/') ? `${pathname}index.html` : pathname);
    const isThere = existsSync(file);
    response.writeHead(isThere ? 200 : 404, {
      'content-type': TYPES[path.extname(file)] ?? 'text/javascript',
    });
    response.end(isThere ? readFileSync(file) : '');
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  origin = `http://127.0.0.1:${server.address().port}`;
  const executablePath = process.env.CHROMIUM ?? '/usr/bin/chromium';
  browser = await chromium.launch({ executablePath, args: FLAGS });
});
afterAll(async () => {
  await browser?.close();
  server.close();
});

/** A page of the site, and what went wrong in it. */
async function open(name, options = {}) {
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 }, ...options });
  const problems = [];
  page.on('console', (message) => {
    if (message.type() === 'error') problems.push(message.text());
  });
  page.on('pageerror', (error) => problems.push(error.stack));
  page.on('requestfailed', (request) => problems.push(request.url()));
  page.on('request', (request) => {
    const isOwn = request.url().startsWith(origin) || request.url().startsWith('data:');
    if (!isOwn) problems.push(`asks for ${request.url()}`);
  });
  await page.goto(`${origin}/${name}`);
  await page.locator('.VPContent').waitFor();
  return { page, problems };
}

const PAGES = [
  'index.html',
  'README.html',
  'docs/getting-started.html',
  'docs/guides/run-every.html',
  'docs/guarantees.html',
  'api/index.html',
  'api/index/interfaces/LockOptions.html',
  'bench/RESULTS.html',
];
const LAYOUTS = [
  ['wide and light', { colorScheme: 'light' }],
  ['wide and dark', { colorScheme: 'dark' }],
  ['narrow', { viewport: { width: 390, height: 844 } }],
];

describe.each(LAYOUTS)('%s', (layout, options) => {
  test.each(PAGES)(
    '%s shows itself without a fault and without scrolling sideways',
    async (name) => {
      const { page, problems } = await open(name, options);
      const shot = `${name.replace(/\W+/g, '-')}-${layout.replaceAll(' ', '-')}.png`;
      await page.screenshot({ path: path.join(SHOTS, shot) });
      const overflow = await page.evaluate(
        () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
      );
      expect(problems).toEqual([]);
      expect(overflow).toBeLessThanOrEqual(0);
      await page.close();
    },
  );
});

test('it is dark where the system asks for it', async () => {
  const { page } = await open('README.html', { colorScheme: 'dark' });
  expect(await page.evaluate(() => document.documentElement.classList.contains('dark'))).toBe(true);
  await page.close();
});

test('the search finds a guide by a word of its text', async () => {
  const { page, problems } = await open('index.html');
  await page.waitForLoadState('networkidle'); // before, no script listens
  await page.keyboard.press('Control+k');
  await page.locator('#localsearch-input').fill('runEvery');
  const found = page.locator('.VPLocalSearchBox .results a[href*="run-every"]').first();
  await found.waitFor();
  expect(await found.getAttribute('href')).toMatch(/run-every/i);
  expect(problems).toEqual([]);
  await page.close();
});

test('every page that the navigation names is there', async () => {
  const { page } = await open('README.html');
  const links = await page
    .locator('.VPSidebar a')
    .evaluateAll((all) => all.map((link) => new URL(link.href).pathname));
  expect(links.length).toBeGreaterThan(30);
  const missing = links.filter(
    (name) => !existsSync(path.join(SITE, name.endsWith('/') ? `${name}index.html` : name)),
  );
  expect(missing).toEqual([]);
  await page.close();
});

test('the first page has the install line', async () => {
  const { page } = await open('index.html');
  expect(await page.locator('.VPContent').innerText()).toContain('npm install holdfast');
  await page.close();
});

test('the API reference begins with locks.request', async () => {
  const { page } = await open('api/index.html');
  expect(await page.locator('.VPContent h2').first().innerText()).toContain('locks.request(');
  await page.close();
});

test('the methods of LockManager begin with request()', async () => {
  const { page } = await open('api/index/classes/LockManager.html');
  expect(await page.locator('.VPContent h3').first().innerText()).toContain('request()');
  await page.close();
});

test('the API reference has a page for each class of the declarations', () => {
  const classes = readdirSync(path.join(SITE, 'api', 'index', 'classes'));
  for (const name of ['LockManager', 'Lock', 'Mutex', 'Semaphore', 'Scheduler', 'TaskSignal']) {
    expect(classes).toContain(`${name}.html`);
  }
});
