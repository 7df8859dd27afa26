'use strict';

// Loaded before a program or a test: each release biases its lock, also the first one of a name and
// after a revocation. `HOLDFAST_JEST=biased-locks npx jest` runs the conformance tests with it.

const { RebiasBackoff } = require('../../../lib/backends/shared-memory/biased-locks.js');

RebiasBackoff.prototype.shouldBias = () => true;
RebiasBackoff.prototype.backOff = () => {};
