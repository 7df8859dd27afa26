'use strict';

// Loaded before a program: every name is kept when its lock is released, not those alone that come
// back. jest.biased-locks.config.js runs the conformance tests with it.

const { Comebacks } = require('../../../lib/backends/shared-memory/biased-locks.js');
const { Comebacks: EagerComebacks } = require('../eager-bias.js');

Comebacks.prototype.isDue = EagerComebacks.prototype.isDue;
Comebacks.prototype.delay = EagerComebacks.prototype.delay;
