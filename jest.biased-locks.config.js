'use strict';

// The conformance tests with each lock biased at its first release, instead of the repeatedly used
// ones alone: npx jest --config jest.biased-locks.config.js

const path = require('node:path');

const PRELOAD = path.join(__dirname, 'test', 'support', 'preload', 'eager-bias.js');
process.env.NODE_OPTIONS = `${process.env.NODE_OPTIONS ?? ''} --require ${JSON.stringify(PRELOAD)}`;

/** @type {import('jest').Config} */
module.exports = {
  ...require('./jest.config.js'),
  testMatch: ['<rootDir>/test/conformance/**/*.test.js'],
  // Jest loads the package once more for the tests: NODE_OPTIONS is for the processes they start.
  setupFiles: [PRELOAD],
};
