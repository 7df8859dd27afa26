'use strict';

// Jest's --detectLeaks: a test file fails if its globals are not collected once it has ended.

const { spawnSync } = require('node:child_process');
const { writeFileSync } = require('node:fs');
const path = require('node:path');

const JEST = path.join(path.dirname(require.resolve('jest/package.json')), 'bin/jest.js');
const LIBRARY = JSON.stringify(path.join(__dirname, '../../lib/index.js'));

/** Titles and bodies of tests, for backends whose agents have sockets or threads. */
const USES_OF_LOCKS = [
  ['a lock', "await holdfast.locks.request('a', () => {});"],
  ['a lock of a blocked thread', "holdfast.locks.requestSync('a', () => {});"],
  ['a snapshot', 'await holdfast.locks.query();'],
  ['a watch', "await holdfast.locks.watch('a').return(); await holdfast.locks.query();"],
];

/** Runs Jest with --detectLeaks over one test file with this body, and expects that it passes. */
function expectNoLeak(folder, url, body) {
  const program = `
    const holdfast = require(${LIBRARY});
    test('uses the package', async () => { ${body} });`;
  writeFileSync(path.join(folder, 'user.test.js'), program);
  writeFileSync(
    path.join(folder, 'jest.config.js'),
    'module.exports = { transform: {}, testTimeout: 60_000 };',
  );
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
  const output = `${stdout}${stderr}${signal ?? ''}`;
  expect(output).toContain('1 passed');
  expect(output).not.toContain('leaking memory');
}

module.exports = { USES_OF_LOCKS, expectNoLeak };
