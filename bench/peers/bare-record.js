'use strict';

// No lock, but all that the record of one takes: an exchange to take it, a token for the bucket, an
// exchange to release it. Also a callback that runs in a microtask, in a separate async context if
// each lock's callback has one (from Node 24 on).

const { AsyncLocalStorage } = require('node:async_hooks');

const NOW = Promise.resolve();
const STATE = 0;
const TOKEN = 1;

const hasContexts = Number(process.versions.node.split('.')[0]) >= 24;

function open() {
  const contexts = new AsyncLocalStorage();
  const words = new Int32Array(new ArrayBuffer(64));
  const tokens = new BigUint64Array(words.buffer);
  const release = () => {
    if (Atomics.compareExchange(words, STATE, 1, 0) !== 1) throw new Error('it was not taken');
  };
  /** @param {() => unknown} section */
  function call(section) {
    if (hasContexts) contexts.enterWith({ section }); // for this microtask
    const result = section();
    release();
    return result;
  }
  /** @param {() => unknown} section */
  function run(section) {
    tokens[TOKEN] = Atomics.add(tokens, TOKEN + 1, 1n) + 1n;
    if (Atomics.compareExchange(words, STATE, 0, 1) !== 0) throw new Error('it is taken');
    return NOW.then(() => call(section));
  }
  return { run };
}

module.exports = { open };
