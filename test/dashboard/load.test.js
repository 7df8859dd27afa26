'use strict';

const path = require('node:path');
const { CommandLine } = require('../support/cli.js');
const { openPage } = require('./browser.js');
const { buildMortalProcesses } = require('./mortal-processes.js');

const SECONDS = 12;
const DEATHS_A_SECOND = 100;
const WATCHDOG_MS = 240_000;
let cli;
let opened;
beforeEach(() => {
  cli = new CommandLine();
});
afterEach(async () => {
  await opened?.browser.close();
  cli.close();
});

/** How late the page comes to draw, while it is watched: gaps between frames, and long tasks. */
const measureFrames = (seconds) =>
  new Promise((resolve) => {
    const gaps = [];
    const tasks = [0];
    const observer = new PerformanceObserver((list) => {
      for (const { duration } of list.getEntries()) tasks.push(duration);
    });
    observer.observe({ type: 'longtask' });
    let last = performance.now();
    const end = last + seconds * 1_000;
    const frame = (now) => {
      gaps.push(now - last);
      last = now;
      if (now < end) requestAnimationFrame(frame);
      else {
        observer.disconnect();
        gaps.sort((a, b) => a - b);
        resolve({
          frames: gaps.length,
          median: gaps[gaps.length >> 1],
          longest: gaps.at(-1),
          longestTask: Math.max(...tasks),
        });
      }
    };
    requestAnimationFrame(frame);
  });

async function deathsShown(page) {
  const figure = page.locator('.figure', { hasText: 'Deaths' }).locator('dd');
  return Number((await figure.innerText()).replace(/\D/g, ''));
}

test(
  '1,000 names, 10,000 waiters and 100 deaths a second: the page keeps answering',
  async () => {
    const mortals = buildMortalProcesses();
    const program = [process.execPath, path.join(__dirname, 'load-program.js')];
    await cli.start([], { program }).line(/loaded/);
    const { url } = JSON.parse(await cli.start(['dashboard', '--json']).line());
    opened = await openPage(url);
    const { page } = opened;
    await page.getByText('10,000').first().waitFor();
    const arguments_ = [cli.directory, String(DEATHS_A_SECOND)];
    await cli.start(arguments_, { program: [mortals] }).line(/ready/);
    const [before, since] = [await deathsShown(page), Date.now()];
    const frames = await page.evaluate(measureFrames, SECONDS);
    const deaths = (await deathsShown(page)) - before;
    const seconds = (Date.now() - since) / 1_000;
    const start = Date.now();
    await page.getByRole('searchbox').fill('name 7');
    await page.getByText(/^\d+ of 1,\d+ locks$/).waitFor();
    await page.getByRole('button', { name: 'name 7', exact: true }).first().click();
    await page.getByText('Waiting, in order: 10').waitFor();
    const answerMs = Date.now() - start;
    const deathsASecond = Math.round(deaths / seconds);
    console.log(JSON.stringify({ frames, answerMs, deathsASecond }));
    // Processes that really died, SIGKILLed, and each was seen; a busy machine starts fewer.
    expect(deaths).toBeGreaterThan(DEATHS_A_SECOND);
    expect(frames.frames).toBeGreaterThan(SECONDS); // it has not stood still
    expect(opened.problems).toEqual([]);
  },
  WATCHDOG_MS,
);
