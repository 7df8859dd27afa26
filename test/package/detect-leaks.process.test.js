'use strict';

// Jest's --detectLeaks: a test file fails if its globals are not collected once it has ended.

const { spawnSync } = require('node:child_process');
const { mkdtempSync, rmSync, writeFileSync } = require('node:fs');
const { tmpdir } = require('node:os');
const path = require('node:path');

const JEST = path.join(path.dirname(require.resolve('jest/package.json')), 'bin/jest.js');
const LIBRARY = JSON.stringify(path.join(__dirname, '../../lib/index.js'));

let folder;
beforeEach(() => (folder = mkdtempSync(path.join(tmpdir(), 'holdfast-leaks-'))));
afterEach(() => rmSync(folder, { recursive: true }));

/** Runs Jest with --detectLeaks over one test file with this body, and gives what it printed. */
function runJest(body) {
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
      env: { ...process.env, HOLDFAST_DIR: path.join(folder, 'locks') },
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
