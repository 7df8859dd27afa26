'use strict';

// The runs of Jest. HOLDFAST_JEST chooses one: `npx jest` alone runs `js`. They are not Jest's
// `projects`: these share one environment, and all of them run if none is chosen.

const { mkdtempSync, rmSync } = require('node:fs');
const { tmpdir } = require('node:os');
const path = require('node:path');

/** @type {import('jest').Config} */
const shared = {
  testEnvironment: 'node',
  modulePathIgnorePatterns: ['<rootDir>/build/', '<rootDir>/prebuilds/'],
  transform: {},
  maxWorkers: 3,
  testTimeout: 60_000, // a watchdog, not a measure: no test is expected to come near it
};

/** @type {Record<string, () => import('jest').Config>} */
const RUNS = {
  js: () => ({
    ...shared,
    testMatch: [
      '<rootDir>/test/**/*.test.js',
      '!**/*.{cluster,postgres}.test.js',
      '!**/test/{dashboard,monitoring,runtimes,site}/**',
      '!**/node_modules/**',
    ],
  }),

  /** The tests that need an etcd: `npm test -- etcd`. */
  etcd() {
    // Processes that a test starts have the environment of Jest, not the test's.
    const directory = mkdtempSync(path.join(tmpdir(), 'holdfast-'));
    process.env.HOLDFAST_DIR = directory;
    process.on('exit', () => rmSync(directory, { recursive: true, force: true }));
    return {
      ...shared,
      testMatch: ['<rootDir>/test/**/*.cluster.test.js'],
      testTimeout: 600_000, // a watchdog: on a busy machine a process takes long to start
    };
  },

  /** The tests that need a PostgreSQL: `npm test -- postgres`. */
  postgres: () => ({
    ...shared,
    testMatch: ['<rootDir>/test/**/*.postgres.test.js'],
    testTimeout: 600_000, // a watchdog, as above
  }),

  /** The conformance suite over a cluster that lives as long as the run. */
  'etcd-conformance': () => ({
    ...shared,
    testMatch: ['<rootDir>/test/**/*.conformance.test.js', '!**/test/tasks/**'],
    testTimeout: 600_000, // some make thousands of requests, each a change in the cluster
    globalSetup: '<rootDir>/test/support/etcd-setup.js',
    globalTeardown: '<rootDir>/test/support/etcd-teardown.js',
  }),

  /** The conformance suite over a PostgreSQL server that lives as long as the run. */
  'postgres-conformance': () => ({
    ...shared,
    testMatch: ['<rootDir>/test/**/*.conformance.test.js', '!**/test/tasks/**'],
    testTimeout: 600_000, // some make thousands of requests, each a call of the server
    globalSetup: '<rootDir>/test/support/postgres-setup.js',
    globalTeardown: '<rootDir>/test/support/postgres-teardown.js',
  }),

  /** The conformance tests with each lock biased at its first release. */
  'biased-locks'() {
    const preload = path.join(__dirname, 'test', 'support', 'preload', 'eager-bias.js');
    const options = process.env.NODE_OPTIONS ?? '';
    process.env.NODE_OPTIONS = `${options} --require ${JSON.stringify(preload)}`;
    return {
      ...shared,
      testMatch: ['<rootDir>/test/**/*.conformance.test.js'],
      setupFiles: [preload],
    };
  },
};

const run = RUNS[process.env.HOLDFAST_JEST ?? 'js'];
if (run === undefined) throw new Error(`HOLDFAST_JEST is one of ${Object.keys(RUNS).join(', ')}`);

module.exports = run();
