'use strict';

const { mkdtempSync, rmSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const shared = require('./jest.config.js');

// Sessions of one machine meet in the lock table of its default directory, and processes that a
// test starts have the environment of Jest, not that of the test. So it is set here.
const directory = mkdtempSync(join(tmpdir(), 'holdfast-'));
process.env.HOLDFAST_DIR = directory;
process.on('exit', () => rmSync(directory, { recursive: true, force: true }));

/** The tests that need an etcd: `npm test -- etcd`. @type {import('jest').Config} */
module.exports = {
  ...shared,
  testMatch: ['<rootDir>/test/etcd/**/*.test.js'],
  testTimeout: 600_000, // a watchdog: on a busy machine a process takes long to start
};
