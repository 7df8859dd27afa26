'use strict';

const { Mutex } = require('async-mutex');

function open() {
  const mutex = new Mutex();
  return { run: (section) => mutex.runExclusive(section) };
}

module.exports = { open };
