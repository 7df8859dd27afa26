'use strict';

/** @type {import('jest').Config} */
module.exports = {
  testEnvironment: 'node',
  testMatch: ['<rootDir>/test/{js,conformance,process,fuzz}/**/*.test.js'],
  modulePathIgnorePatterns: ['<rootDir>/build/', '<rootDir>/prebuilds/'],
  transform: {},
  maxWorkers: 3,
  testTimeout: 60_000, // a watchdog, not a measure: no test is expected to come near it
};
