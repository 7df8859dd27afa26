'use strict';

const path = require('node:path');
const { CommandLine } = require('../support/cli.js');
const { openPage } = require('./browser.js');

const SECONDS = 12;
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

/** How late the page comes to draw, while it is watched: the longest and the usual gap. */
const measureFrames = (seconds) =>
  new Promise((resolve) => {
    const gaps = [];
    let last = performance.now();
    const end = last + seconds * 1_000;
    const frame = (now) => {
      gaps.push(now - last);
      last = now;
      if (now < end) requestAnimationFrame(frame);
      else {
        gaps.sort((a, b) => a - b);
        resolve({ frames: gaps.length, median: gaps[gaps.length >> 1], longest: gaps.at(-1) });
      }
    };
    requestAnimationFrame(frame);
  });

test(
  '1,000 names, 10,000 waiters and 100 deaths a second: the page goes on and answers',
  async () => {
    const program = [process.execPath, path.join(__dirname, 'load-program.js')];
    await cli.start([], { program }).line(/loaded/);
    const { url } = JSON.parse(await cli.start(['dashboard', '--json']).line());
    opened = await openPage(url);
    const { page } = opened;
    await page.getByText('10,000').first().waitFor();
    const frames = await page.evaluate(measureFrames, SECONDS);
    const start = Date.now();
    await page.getByRole('searchbox').fill('name 7');
    await page.getByText(/^\d+ of 1,\d+ locks$/).waitFor();
    await page.getByRole('button', { name: 'name 7', exact: true }).first().click();
    await page.getByText('Waiting, in order: 10').waitFor();
    const answerMs = Date.now() - start;
    const deaths = await page.locator('.figure', { hasText: 'Deaths' }).locator('dd').innerText();
    console.log(JSON.stringify({ frames, answerMs, deaths }));
    expect(Number(deaths.replace(/\D/g, ''))).toBeGreaterThan(100);
    expect(frames.frames).toBeGreaterThan(SECONDS); // it has not stood still
    expect(opened.problems).toEqual([]);
  },
  WATCHDOG_MS,
);
