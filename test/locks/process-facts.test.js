'use strict';

const { hostname } = require('node:os');
const { pidText } = require('../../lib/cli/lock-rows.js');
const { withProcessFacts } = require('../../lib/locks/process-facts.js');

const stateOf = (detail) => withProcessFacts({ held: [detail], pending: [] }).held[0].processState;

test('a process is looked at where its number is one of this machine', () => {
  expect(stateOf({ pid: process.pid })).toBe('running');
  expect(stateOf({ pid: process.pid, host: hostname() })).toBe('running');
  expect(stateOf({ pid: process.pid, host: `not ${hostname()}` })).toBe('unknown');
  expect(stateOf({ pid: 0 })).toBe('unknown');
});

test('processes of two machines that have the same number are not taken for one', () => {
  const [here, there] = [hostname(), 'elsewhere'].map((host) => ({ pid: process.pid, host }));
  const { held, pending } = withProcessFacts({ held: [there, here], pending: [there] });
  expect(held.map((lock) => lock.processState)).toEqual(['unknown', 'running']);
  expect(pending[0]).toMatchObject({ processState: 'unknown', command: '' });
});

test('the command line names the machine of a process that is elsewhere', () => {
  expect(pidText({ pid: 7 })).toBe('7');
  expect(pidText({ pid: 7, host: hostname() })).toBe('7');
  expect(pidText({ pid: 7, host: 'web-2' })).toBe('7@web-2');
  expect(pidText({ pid: 0, host: 'web\u001b2' })).toMatch(/^\?@web/);
  expect(pidText({ pid: 0, host: 'web\u001b2' })).not.toContain('\u001b');
});
