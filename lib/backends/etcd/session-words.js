'use strict';

/** What the words of the shared buffer mean: how many messages the thread has sent, its phase. */
const COUNT = 0;
const PHASE = 1;
const WORDS = 2;

/** The phases of the thread, which notes them itself: events of it need a free loop. */
const STARTING = 0;
const RUNNING = 1;
const ENDED = 2;

/** What the thread of a session and that of its agent share: one of them may be blocked. */
class SessionWords {
  #words;

  /** @param {SharedArrayBuffer} [buffer] */
  constructor(buffer = new SharedArrayBuffer(WORDS * Int32Array.BYTES_PER_ELEMENT)) {
    this.buffer = buffer;
    this.#words = new Int32Array(buffer);
  }

  /** Called in the session's thread, which notes its end by itself from then on. */
  noteStart() {
    Atomics.compareExchange(this.#words, PHASE, STARTING, RUNNING);
    process.on('exit', () => this.noteEnd());
  }

  noteEnd() {
    Atomics.store(this.#words, PHASE, ENDED);
  }

  noteMessage() {
    Atomics.add(this.#words, COUNT, 1);
    Atomics.notify(this.#words, COUNT);
  }

  get hasStarted() {
    return Atomics.load(this.#words, PHASE) !== STARTING;
  }

  get hasEnded() {
    return Atomics.load(this.#words, PHASE) === ENDED;
  }

  get messageCount() {
    return Atomics.load(this.#words, COUNT);
  }

  /**
   * Blocks until there are more messages.
   * @param {number} seen
   * @param {number} ms  at most
   */
  awaitMessage(seen, ms) {
    Atomics.wait(this.#words, COUNT, seen, ms);
  }
}

module.exports = { SessionWords };
