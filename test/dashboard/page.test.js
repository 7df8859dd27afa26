'use strict';

const { readFileSync } = require('node:fs');
const { CommandLine } = require('../support/cli.js');
const { untilEqual } = require('../support/process-bucket.js');
const { openPage } = require('./browser.js');

let cli;
let url;
let opened;
beforeEach(async () => {
  cli = new CommandLine();
  await cli.locks.request('first', () => {}); // makes the bucket
  ({ url } = JSON.parse(await cli.start(['dashboard', '--json', '--interval', '0.2']).line()));
});
afterEach(async () => {
  await opened?.browser.close();
  cli.close();
});

async function open(options) {
  opened = await openPage(url, options);
  return opened.page;
}

const AXE = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');

test('a screen reader can use all of it, light and dark, by the rules of axe', async () => {
  await cli.hold('a lock');
  cli.start(['exec', 'a lock', 'true']);
  await cli.startDeadlock();
  const page = await open();
  await page.getByText(/Deadlock of 2/).waitFor();
  await page.getByRole('button', { name: 'Pause' }).click(); // axe looks at one picture
  await page.getByRole('status').getByText('paused').waitFor();
  await page.evaluate(AXE);
  for (const colorScheme of ['light', 'dark']) {
    await page.emulateMedia({ colorScheme });
    const { violations } = await page.evaluate('axe.run()');
    expect(violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html)])).toEqual([]);
  }
});

test('shows what happens as it happens, and asks no other server', async () => {
  const page = await open();
  await page.getByText('No lock is used.').waitFor();
  const holder = await cli.hold('a lock', '--label', 'nightly');
  const row = page.getByRole('row', { name: /a lock/ });
  await row.getByText(`pid ${holder.pid}`).first().waitFor();
  await row.getByText('nightly').first().waitFor();
  holder.kill('SIGSTOP');
  await row.getByText('stopped').waitFor();
  holder.kill('SIGCONT');
  await cli.locks.request('a lock', { steal: true }, () => {});
  await page.getByText('was taken away by a steal').waitFor();
  expect(opened.problems).toEqual([]);
  expect(opened.requests.filter((one) => !one.startsWith(url))).toEqual([]);
});

test('a deadlock is announced', async () => {
  await cli.startDeadlock();
  const page = await open();
  await page
    .getByRole('alert')
    .getByText(/Deadlock of 2/)
    .waitFor();
  const text = await page.getByRole('group', { name: 'Deadlocks' }).innerText();
  expect(text).toMatch(/waits for left[^]*waits for right|waits for right[^]*waits for left/);
  expect(text.match(/waits for \w+ for \S+ s, held by pid \d+ for \S+ s/g)).toHaveLength(2);
  expect(text).toMatch(/holdfast steal NAME/);
});

test('everything can be done with the keyboard', async () => {
  await cli.hold('b lock');
  await cli.hold('a lock');
  const page = await open();
  await page.getByRole('button', { name: 'a lock' }).first().waitFor();
  await page.keyboard.press('Tab');
  expect(await page.evaluate(() => document.activeElement.textContent)).toBe('Skip to the locks');
  await page.keyboard.press('Enter');
  for (const expected of ['', '', 'Lock']) {
    await page.keyboard.press('Tab'); // the filter, the table, its first column
    expect(await page.evaluate(() => document.activeElement.textContent)).toMatch(expected);
  }
  await page.keyboard.press('Enter');
  await page.locator('th[aria-sort="ascending"]').waitFor();
  const names = () => page.locator('#locks tbody th button').allInnerTexts();
  await untilEqual(names, ['a lock', 'b lock']);
  await page.getByRole('button', { name: 'a lock' }).first().focus();
  await page.keyboard.press('Enter');
  const dialog = page.getByRole('dialog', { name: 'a lock' });
  await dialog.getByText('Held by: 1').waitFor();
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });
  await page.getByRole('button', { name: /^Theme/ }).focus();
  await page.keyboard.press('Enter');
  await page.locator('html[data-theme="light"]').waitFor({ state: 'attached' });
});

test('a name from another process is text, whatever is in it', async () => {
  const name = '<img src=x onerror="document.title=1">\u202e\ud800';
  await cli.locks.acquire(name);
  const page = await open();
  await page
    .getByText('<img src=x onerror="document.title=1">\\u{202e}\\u{d800}')
    .first()
    .waitFor();
  expect(await page.title()).toBe('holdfast');
  expect(opened.problems).toEqual([]);
});

test('the picture of a lock shows labels as text too, with their command in full', async () => {
  const label = '\u202egpj.exe';
  await cli.hold('a lock', '--label', label);
  const page = await open();
  await page.getByRole('button', { name: 'a lock' }).first().click();
  const dialog = page.getByRole('dialog', { name: 'a lock' });
  await dialog.getByText('\\u{202e}gpj.exe', { exact: true }).waitFor();
  const command = dialog.locator('td.command').first();
  expect(await command.getAttribute('title')).toMatch(/exec --label .* a lock -- sh -c/);
});

test('the picture of a lock shows priorities, and how often a request was overtaken', async () => {
  await cli.holdHere('a lock', { priority: 'user-blocking' });
  void cli.locks.request('a lock', { priority: 'background' }, () => {}).catch(() => {});
  void cli.locks.request('a lock', () => {}).catch(() => {});
  const page = await open();
  await page.getByRole('button', { name: 'a lock' }).first().click();
  const dialog = page.getByRole('dialog', { name: 'a lock' });
  await dialog.getByRole('cell', { name: 'user-blocking', exact: true }).waitFor();
  await dialog.getByRole('cell', { name: 'user-visible', exact: true }).waitFor();
  await dialog.getByRole('cell', { name: 'background, overtaken 1', exact: true }).waitFor();
});

test('comes back when the table has been replaced', async () => {
  await cli.hold('a lock');
  const page = await open();
  await page.getByRole('button', { name: 'a lock' }).first().waitFor();
  require('node:fs').rmSync(`${cli.directory}/default`, { recursive: true });
  await untilEqual(() => page.getByRole('button', { name: 'a lock' }).count(), 0);
  await page.getByRole('status').getByText('live').waitFor();
});

describe('of more than a page lists', () => {
  const NAMES = 12_000;
  const WAITERS = 1_200;

  test('the totals are of all, the filter searches all, and a part is called one', async () => {
    for (let i = 0; i < NAMES; i += 1) await cli.holdHere(`name ${i}`);
    await cli.holdHere('long queue');
    for (let i = 0; i < WAITERS; i += 1) cli.locks.request('long queue', () => {}).catch(() => {});
    const page = await open();
    const figure = page.locator('.figure', { hasText: 'Locks' }).locator('dd');
    await figure.getByText('12,001').waitFor();
    await page.getByText('listed: the 2,000 with the longest queues').waitFor();
    const filter = page.getByRole('searchbox');
    await filter.fill('no such name');
    await page.getByText('No lock has this text in its name.').waitFor();
    for (const name of [`name ${NAMES - 1}`, `name ${NAMES >> 1}`]) {
      await filter.fill(name);
      await page.locator('#locks tbody tr').getByRole('button', { name, exact: true }).waitFor();
      await page.getByText('1 of 12,001 locks').waitFor();
    }
    await page.getByText('20 of 12,001 locks: those with the longest queues').waitFor();
    await filter.fill('long queue');
    await page.locator('#locks tbody tr').getByRole('button', { name: 'long queue' }).click();
    const dialog = page.getByRole('dialog', { name: 'long queue' });
    await dialog.getByText('Waiting, in order: 1,000 of 1,200').waitFor();
    const close = dialog.getByRole('button', { name: 'Close' });
    const { y, height } = await close.boundingBox();
    expect(y + height).toBeLessThan(page.viewportSize().height);
    await close.click();
    await dialog.waitFor({ state: 'detached' });
  }, 60_000);
});

test('a wide name in the timeline ends before its bars', async () => {
  await cli.holdHere('W'.repeat(100));
  const page = await open();
  const label = page.locator('.timeline g > :first-child');
  await label.waitFor({ state: 'attached' });
  const end = await label.evaluate((element) => {
    const isClipped = element.tagName === 'svg' && getComputedStyle(element).overflow === 'hidden';
    return isClipped ? element.width.baseVal.value : element.getBBox().width;
  });
  const oldest = page.getByText('60 s ago'); // the oldest bar begins here
  expect(end).toBeLessThan(Number(await oldest.getAttribute('x')));
});
