'use strict';

// A service of 3 processes is upgraded while it works, one process after the other. See README.md.

const { fork } = require('node:child_process');
const { once } = require('node:events');
const { mkdtempSync, rmSync } = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { parseArgs } = require('node:util');
const { outOfOrder, readJournal, unfinished } = require('./journal.js');

const PROCESSES = 3;
const ORDERS = 20; // of each process before the next step

const USAGE = `node examples/rolling-upgrade/main.js [options]
  --old DIR        the first release uses the holdfast in this folder
  --without-lock   the same without the lock: it must fail
  --json           the result for machines, nothing else
`;

/**
 * @typedef {object} Result
 * @property {number[]} orders  Served by the first and by the second release.
 * @property {number} unfinished  Orders that were begun and never done.
 * @property {number} outOfOrder  lines of the journal
 * @property {number} longestPauseMs  in which no order was begun or done
 * @property {boolean} ok
 */

/** A process of the service. */
class Service {
  #child;
  #ended;

  /** @param {import('./service.js').Task} task */
  constructor(task) {
    this.#child = fork(path.join(__dirname, 'service.js'), [JSON.stringify(task)]);
    this.#ended = once(this.#child, 'exit');
  }

  /** @param {number} orders  that it serves from now on */
  async untilServed(orders) {
    let left = orders;
    /** @type {(value?: any) => void} */
    let resolve;
    const served = new Promise((it) => (resolve = it));
    const count = () => {
      left -= 1;
      if (left === 0) resolve();
    };
    this.#child.on('message', count);
    await Promise.race([served, this.#ended]);
    this.#child.off('message', count);
    if (left > 0) throw new Error('a process of the service has ended');
  }

  /** Whatever it does. */
  async kill() {
    this.#child.kill('SIGKILL');
    await this.#ended;
  }

  /** Asks it to go, as systemd, Docker and Kubernetes do, and waits until it has. */
  async end() {
    this.#child.kill('SIGTERM');
    const [code, signal] = await this.#ended;
    if (code !== 0) throw new Error(`a process of the service ended with ${code ?? signal}`);
  }
}

/**
 * @param {string} directory  for the journal and the locks
 * @param {{ old: string, withLock: boolean }} options
 * @returns {Promise<Result>}
 */
async function run(directory, { old, withLock }) {
  const journal = path.join(directory, 'orders.log');
  /** @type {Service[]} */
  const started = [];
  const start = (/** @type {number} */ release) => {
    const library = release === 1 ? old : 'holdfast';
    const service = new Service({ release, library, journal, directory, withLock });
    started.push(service);
    return service;
  };
  try {
    await upgrade(start);
  } finally {
    await Promise.all(started.map((it) => it.kill()));
  }
  return judge(readJournal(journal));
}

/** @param {(release: number) => Service} start */
async function upgrade(start) {
  const services = Array.from({ length: PROCESSES }, () => start(1));
  const allServe = () => Promise.all(services.map((it) => it.untilServed(ORDERS)));
  await allServe();
  for (const i of services.keys()) {
    const next = start(2);
    await next.untilServed(1); // it works: only now the old one may go
    await services[i].end();
    services[i] = next;
    await allServe();
  }
  await Promise.all(services.map((it) => it.end()));
}

/**
 * @param {import('./journal.js').Line[]} lines
 * @returns {Result}
 */
function judge(lines) {
  const done = lines.filter(({ what }) => what === 'done');
  const pauses = lines.slice(1).map(({ at }, i) => at - lines[i].at);
  const result = {
    orders: [1, 2].map((release) => done.filter((it) => it.release === release).length),
    unfinished: unfinished(lines),
    outOfOrder: outOfOrder(lines),
    longestPauseMs: Math.max(...pauses),
  };
  return { ...result, ok: result.unfinished + result.outOfOrder === 0 };
}

/** @param {Result} result */
function print(result) {
  const rows = [
    ['orders of the first release', result.orders[0]],
    ['orders of the second release', result.orders[1]],
    ['orders begun and never done', result.unfinished],
    ['steps out of order', result.outOfOrder],
    ['longest pause (ms)', result.longestPauseMs],
  ];
  for (const [what, value] of rows) console.log(`  ${String(what).padEnd(32)}${value}`);
  console.log(result.ok ? '\nAll is well.' : '\nNOT well: see the table.');
}

async function main() {
  const { values } = parseArgs({
    options: {
      help: { type: 'boolean' },
      json: { type: 'boolean' },
      old: { type: 'string' },
      'without-lock': { type: 'boolean' },
    },
  });
  if (values.help) {
    console.log(USAGE);
    return;
  }
  const old = values.old === undefined ? 'holdfast' : path.resolve(values.old);
  const directory = mkdtempSync(path.join(os.tmpdir(), 'holdfast-orders-'));
  try {
    const result = await run(directory, { old, withLock: !values['without-lock'] });
    if (values.json) console.log(JSON.stringify(result));
    else print(result);
    process.exitCode = result.ok ? 0 : 1;
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

main();
