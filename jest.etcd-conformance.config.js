'use strict';

const shared = require('./jest.config.js');

/**
 * The conformance suite over a cluster that lives as long as the run.
 * @type {import('jest').Config}
 */
module.exports = {
  ...shared,
  testMatch: [
    '<rootDir>/test/conformance/*.test.js',
    '<rootDir>/test/conformance/extensions/*.test.js',
  ],
  testTimeout: 600_000, // some make thousands of requests, each a change in the cluster
  globalSetup: '<rootDir>/test/support/etcd-setup.js',
  globalTeardown: '<rootDir>/test/support/etcd-teardown.js',
};
