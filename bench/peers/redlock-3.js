'use strict';

const { onLoopback } = require('./redlock.js');

module.exports = onLoopback(3);
