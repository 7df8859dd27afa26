'use strict';

const { hasEnded, startByPs } = require('../../lib/backends/broker/platform.js');

/** A busy machine may need longer for it than a client waits. */
const MAX_MS = 600_000;
const GONE = 2 ** 22 + 1; // no process of Linux has such a number

test('ps reports when a process has started, wherever it runs, and nothing of a process that is gone', async () => {
  const start = await startByPs(process.pid, MAX_MS);
  expect(start).toMatch(/^[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4}$/);
  const began = Date.now() - process.uptime() * 1000;
  expect(Math.abs(Date.parse(`${start} UTC`) - began)).toBeLessThan(60_000);
  expect(await startByPs(GONE, MAX_MS)).toBe(undefined);
});

test('the time zone and the language of a process do not change what ps says', async () => {
  const hourOf = async () => (await startByPs(process.ppid, MAX_MS)).slice(0, 13);
  const before = await hourOf();
  const { TZ, LC_ALL } = process.env;
  try {
    Object.assign(process.env, { TZ: 'Asia/Tokyo', LC_ALL: 'C.UTF-8' });
    expect(await hourOf()).toBe(before);
  } finally {
    for (const [name, value] of Object.entries({ TZ, LC_ALL })) {
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
  }
});

test.each([
  ['the number is of no process', { pid: GONE, start: 'Monday' }, undefined, true],
  ['another one has the number', { pid: process.pid, start: 'Monday' }, 'Tuesday', true],
  ['it is the same', { pid: process.pid, start: 'Monday' }, 'Monday', false],
  ['ps does not tell', { pid: process.pid, start: 'Monday' }, undefined, false],
  ['its start was not noted', { pid: process.pid }, 'Tuesday', false],
])('a process has ended? %s', async (_title, known, present, expected) => {
  expect(await hasEnded(known, async () => present)).toBe(expected);
});

test('if the start of a process does not stay the same, its number alone counts', async () => {
  expect(await hasEnded({ pid: process.pid, start: 'Monday' }, undefined)).toBe(false);
});
