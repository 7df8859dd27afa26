'use strict';

const { join } = require('node:path');
const { Worker } = require('node:worker_threads');
const assert = require('node:assert/strict');
const holdfast = require('../../lib/index.js');

const PROGRAM = `
  'use strict';
  const { parentPort, workerData } = require('node:worker_threads');
  const api = { ...require(workerData), assert: require('node:assert/strict'), require };
  parentPort.on('message', async (source) => {
    try {
      // Said here because not every runtime takes the directive above for one.
      await eval('"use strict"; (' + source + ')')(api);
      parentPort.postMessage(undefined);
    } catch (error) {
      parentPort.postMessage(error);
    }
  });`;

/** A worker thread that runs the bodies of tests, one after the other. */
class BodyWorker {
  /** Undefined once it has ended. */
  #worker;
  #ended;

  start() {
    const workerData = join(__dirname, '../../lib/index.js');
    const worker = new Worker(PROGRAM, { eval: true, workerData });
    this.#worker = worker;
    this.#ended = new Promise((_, reject) => {
      const end = (error) => {
        if (this.#worker === worker) this.#worker = undefined;
        reject(error);
      };
      worker.on('error', end);
      worker.on('exit', () => end(new Error('the worker has ended')));
    });
    this.#ended.catch(() => {}); // reported by the test that runs then
  }

  async run(body) {
    if (this.#worker === undefined) this.start(); // the body before has ended it
    const answer = new Promise((resolve) => this.#worker.once('message', resolve));
    this.#worker.postMessage(body.toString());
    const error = await Promise.race([answer, this.#ended]);
    if (error !== undefined) throw error;
  }

  stop() {
    return this.#worker?.terminate();
  }
}

/**
 * Tests of one topic, in the main thread and in a worker. `define` gets a function that makes a
 * test of a self-contained body: `test('…', run(async ({ scheduler, assert }) => { … }))`.
 */
function describeInThreads(topic, define) {
  describe(`${topic} [main thread]`, () => {
    define((body) => () => body({ ...holdfast, assert, require }));
  });
  describe(`${topic} [worker]`, () => {
    const worker = new BodyWorker();
    beforeAll(() => worker.start());
    afterAll(() => worker.stop());
    define((body) => () => worker.run(body));
  });
}

module.exports = { describeInThreads };
