'use strict';

// Jest's --detectLeaks: a test file fails if its globals are not collected once it has ended.

const { spawnSync } = require('node:child_process');
const { mkdtempSync, writeFileSync } = require('node:fs');
const { tmpdir } = require('node:os');
const path = require('node:path');
const { BrokerFiles } = require('../../lib/backends/broker/broker-files.js');
const { removeLocks } = require('../support/broker-process.js');

const JEST = path.join(path.dirname(require.resolve('jest/package.json')), 'bin/jest.js');
const LIBRARY = JSON.stringify(path.join(__dirname, '../../lib/index.js'));

let folder;
beforeEach(() => (folder = mkdtempSync(path.join(tmpdir(), 'holdfast-leaks-'))));
afterEach(() => removeLocks(new BrokerFiles('default', folder)));

/** Runs Jest with --detectLeaks over one test file with this body, and gives what it printed. */
function runJest(body, url = 'shm:') {
  const program = `
    const holdfast = require(${LIBRARY});
    test('uses the package', async () => { ${body} });`;
  writeFileSync(path.join(folder, 'user.test.js'), program);
  writeFileSync(path.join(folder, 'jest.config.js'), 'module.exports = { transform: {} };');
  const { stdout, stderr, signal } = spawnSync(
    process.execPath,
    [JEST, '--detectLeaks', '--runInBand', '--rootDir', folder, '--config', 'jest.config.js'],
    {
      cwd: folder,
      encoding: 'utf8',
      timeout: 600_000, // a watchdog
      env: { ...process.env, HOLDFAST_DIR: path.join(folder, 'locks'), HOLDFAST_URL: url },
    },
  );
  return { output: `${stdout}${stderr}${signal ?? ''}` };
}

test.each([
  ['a task', 'await holdfast.scheduler.postTask(() => {});'],
  ['an idle callback', 'await new Promise((done) => holdfast.requestIdleCallback(done));'],
  ['a lock', "await holdfast.locks.request('a', () => {});"],
  ['a yield', 'await holdfast.scheduler.yield();'],
])('%s leaves nothing of a test file behind', (_, body) => {
  const { output } = runJest(body);
  expect(output).toContain('1 passed');
  expect(output).not.toContain('leaking memory');
});

test.each([
  ['a lock', "await holdfast.locks.request('a', () => {});"],
  ['a lock of a blocked thread', "holdfast.locks.requestSync('a', () => {});"],
  ['a snapshot', 'await holdfast.locks.query();'],
  ['a watch', "await holdfast.locks.watch('a').return(); await holdfast.locks.query();"],
])('%s over a broker leaves nothing of a test file behind', (_, body) => {
  const { output } = runJest(body, 'broker:');
  expect(output).toContain('1 passed');
  expect(output).not.toContain('leaking memory');
});
