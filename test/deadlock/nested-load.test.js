'use strict';

const { mkdtempSync, rmSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { VirtualClock } = require('../support/virtual-clock.js');

const clock = new VirtualClock();
jest.doMock('../../lib/time.js', () => ({
  ...jest.requireActual('../../lib/time.js'),
  ...clock.timers,
  performance: clock.performance,
}));

const { LocalBackend } = require('../../lib/backends/local/backend.js');
const { LocalLockTable } = require('../../lib/backends/local/lock-table.js');
const { SharedMemoryBackend } = require('../../lib/backends/shared-memory/backend.js');
const { openLockManager } = require('../../lib/index.js');
const { IN_PROCESS_BACKENDS } = require('../support/combinations.js');
const { lengthOf } = require('../support/lengths.js');
const { randomFrom } = require('../support/process-random.js');

// Requests inside the callbacks of others, at random, but so that no cycle can close: a holder of a
// name asks for later names only. No deadlock may be reported, however long they wait. The time
// comes from a clock of the test.
// HOLDFAST_SEED=<seed> repeats the choices of a run; HOLDFAST_MINUTES=60 is an hour of such a load.
const SEED = Number(process.env.HOLDFAST_SEED ?? Math.floor(Math.random() * 2 ** 31));
const MINUTES = lengthOf('HOLDFAST_MINUTES', { whole: 10, part: 4 });
const MANAGERS = 4;
const CHAINS = 12;
const NAMES = 8;
const MAX_MS = 400;

const OPENERS = {
  local() {
    const table = new LocalLockTable();
    return () => new LocalBackend(table);
  },
  'shared-memory': (directory) => () => new SharedMemoryBackend({ directory }),
};

/** Makes nested requests until it is stopped. */
class Load {
  isStopped = false;
  requests = 0;
  failures = [];
  #managers;
  #random;

  constructor(managers, random) {
    this.#managers = managers;
    this.#random = random;
  }

  async run() {
    while (!this.isStopped) await this.#request(this.#random(NAMES));
  }

  async #request(name) {
    const random = this.#random;
    this.requests += 1;
    const options = { mode: ['exclusive', 'shared'][random(2)] };
    if (options.mode === 'shared' && random(3) === 0) options.limit = 1 + random(3);
    options.deadlock = ['warn', 'reject'][random(2)];
    const locks = this.#managers[random(MANAGERS)];
    try {
      await locks.request(`${name}`, options, () => this.#hold(name));
    } catch (error) {
      this.failures.push(error);
    }
  }

  /** None, one or two requests for later names, and some time. */
  async #hold(name) {
    const random = this.#random;
    const left = NAMES - 1 - name;
    const inner = Array.from({ length: left > 0 ? random(3) : 0 }, () => name + 1 + random(left));
    await Promise.all(inner.map((later) => this.#request(later)));
    await clock.sleep(random(MAX_MS));
  }
}

let directory;
let warn;
beforeAll(() => {
  console.info(`HOLDFAST_SEED=${SEED} HOLDFAST_MINUTES=${MINUTES}`);
  directory = mkdtempSync(join(tmpdir(), 'holdfast-'));
  warn = jest.spyOn(process, 'emitWarning').mockImplementation(() => {});
});
afterAll(() => {
  warn.mockRestore();
  rmSync(directory, { recursive: true, force: true });
});

test.each(IN_PROCESS_BACKENDS)(
  'no deadlock is reported where there is none [%s]',
  async (kind) => {
    const open = OPENERS[kind](directory);
    const backends = Array.from({ length: MANAGERS }, open);
    const checks = backends.map((backend) =>
      jest.spyOn(backend, backend.waitsOf === undefined ? 'inspect' : 'waitsOf'),
    );
    const managers = backends.map((backend) => openLockManager({ backend }));
    // From here on it is known what is inside a callback, on every version of Node.
    await managers[0].request('first', { reentrant: true }, () => {});

    const load = new Load(managers, randomFrom(SEED));
    const ends = Array.from({ length: CHAINS }, () => load.run());
    await clock.pass(MINUTES * 60_000);
    load.isStopped = true;
    let hasEnded = false;
    Promise.all(ends).then(() => (hasEnded = true));
    while (!hasEnded) await clock.pass(MAX_MS);

    expect(load.failures).toEqual([]);
    expect(warn).not.toHaveBeenCalled();
    // The checks for deadlocks ran all the time.
    const count = checks.reduce((sum, { mock }) => sum + mock.calls.length, 0);
    expect(count).toBeGreaterThan(MINUTES * 20);
    console.info(`${kind}: ${load.requests} requests, ${count} checks`);
    for (const locks of managers) locks.close();
  },
  60_000 + MINUTES * 30_000,
);
