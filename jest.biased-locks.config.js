'use strict';

// The conformance tests where every name is kept when its lock is released, instead of those alone
// that come back: npx jest --config jest.biased-locks.config.js

const path = require('node:path');

const PRELOAD = path.join(__dirname, 'test', 'support', 'preload', 'eager-bias.js');
process.env.NODE_OPTIONS = `${process.env.NODE_OPTIONS ?? ''} --require ${JSON.stringify(PRELOAD)}`;

/** @type {import('jest').Config} */
module.exports = {
  ...require('./jest.config.js'),
  testMatch: ['<rootDir>/test/conformance/**/*.test.js'],
  moduleNameMapper: { '/comebacks\\.js$': '<rootDir>/test/support/eager-bias.js' },
};
