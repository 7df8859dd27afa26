'use strict';

// A reporter for Jest: if the run is ended from outside, it prints which test files had begun and
// not ended. A test that blocks its thread cannot be timed out by Jest, and leaves no other trace.

class UnfinishedReporter {
  /** @type {Set<string>} */
  #running = new Set();

  constructor() {
    process.once('SIGTERM', () => {
      console.error(`Not ended: ${[...this.#running].join(', ') || 'no test file'}`);
      process.exit(1);
    });
  }

  /** @param {{ path: string }} test */
  onTestFileStart({ path }) {
    this.#running.add(path);
  }

  /** @param {{ path: string }} test */
  onTestFileResult({ path }) {
    this.#running.delete(path);
  }
}

module.exports = UnfinishedReporter;
