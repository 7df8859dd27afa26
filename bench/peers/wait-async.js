'use strict';

// A fair lock over Atomics.waitAsync: tickets, and one word for each waiter, so that only the next
// in line is woken. For the threads that share the buffer.

const NEXT_TICKET = 0;
const NOW_SERVING = 1;
const FIRST_WORD = 2;
const WORDS = 64;

/** @param {import('./peers.js').PeerSetup} setup */
function open({ buffer }) {
  const words = new Int32Array(buffer);
  const wordOf = (ticket) => FIRST_WORD + (ticket % WORDS);

  async function acquire() {
    const ticket = Atomics.add(words, NEXT_TICKET, 1);
    for (;;) {
      const seen = Atomics.load(words, wordOf(ticket));
      if (Atomics.load(words, NOW_SERVING) === ticket) return;
      await Atomics.waitAsync(words, wordOf(ticket), seen).value;
    }
  }

  function release() {
    const next = Atomics.add(words, NOW_SERVING, 1) + 1;
    Atomics.add(words, wordOf(next), 1);
    Atomics.notify(words, wordOf(next), 1);
  }

  const run = async (section) => {
    await acquire();
    try {
      return await section();
    } finally {
      release();
    }
  };
  return { run };
}

module.exports = { open };
