'use strict';

const shared = require('./jest.config.js');

/** The tests that need an etcd: `npm run test:etcd`. @type {import('jest').Config} */
module.exports = {
  ...shared,
  testMatch: ['<rootDir>/test/etcd/**/*.test.js'],
  testTimeout: 600_000, // a watchdog: on a busy machine a process takes long to start
};
