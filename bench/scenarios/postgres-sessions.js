'use strict';

const { readFileSync, readdirSync } = require('node:fs');
const { setTimeout: sleep } = require('node:timers/promises');
const { makeDirectory } = require('../harness/bucket.js');
const { LOOPBACK } = require('../harness/free-ports.js');
const { connectAt, serve, serverIn, whyNot } = require('../peers/postgresql.js');
const { toPostgresOptions } = require('../../lib/backends/postgres/postgres-options.js');
const { RemoteRequest } = require('../../lib/backends/remote/lock-session.js');
const { PostgresSession } = require('../../lib/backends/postgres/session.js');

const SESSIONS = 1_000;
const TTL_S = 10;
/** Opened at the same time. */
const AT_ONCE = 25;
const WINDOW_MS = 10_000;
/** USER_HZ of Linux. */
const TICK_MS = 10;
const BARE = 'bare connections';

/** @param {(index: number) => Promise<unknown>} open */
async function openAll(open) {
  for (let first = 0; first < SESSIONS; first += AT_ONCE) {
    await Promise.all(Array.from({ length: AT_ONCE }, (_, i) => open(first + i)));
  }
}

/** Sessions of holdfast that have had a lock each, without their threads. */
async function openHoldfast(directory) {
  let lost = 0;
  const { port } = serverIn(directory);
  const url = `postgres://bench@${LOOPBACK}:${port}/postgres?ttl=${TTL_S}`;
  const { options } = toPostgresOptions(url, {});
  const agent = { clientId: 'bench', pid: 1, threadId: 0, host: 'bench', pidNamespace: '' };
  await openAll(async (index) => {
    const host = /** @type {any} */ ({ onExtended() {}, onSessionLost: () => (lost += 1) });
    const session = new PostgresSession(options, /** @type {any} */ (agent), host);
    await session.open();
    const left = new Promise((resolve) => (host.onLeft = resolve));
    host.onGranted = (request) => session.leave(request, undefined);
    const request = { mode: 'exclusive', steal: false, since: 0 };
    const message = { number: 1, name: `name ${index}`, ...request };
    session.enter(new RemoteRequest(/** @type {any} */ (message)));
    await left;
  });
  return () => lost;
}

/** Connections that have asked once. */
async function openBare(directory) {
  await openAll(async () => (await connectAt(directory, LOOPBACK)).query('SELECT 1'));
  return () => 0;
}

/** The processes of the server. @param {string} directory */
function pidsIn(directory) {
  const { pid } = serverIn(directory);
  const all = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return [
    String(pid),
    ...all.filter((each) => {
      try {
        return readFileSync(`/proc/${each}/stat`, 'utf8').split(') ')[1].split(' ')[1] === `${pid}`;
      } catch {
        return false; // it has ended
      }
    }),
  ];
}

/** The memory that the server has, each shared page counted once. @param {string[]} pids */
function memoryKiB(pids) {
  const sizes = pids.map((pid) => {
    const text = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8');
    return Number(/^Pss:\s+(\d+)/m.exec(text)?.[1]);
  });
  return sizes.reduce((sum, size) => sum + size, 0);
}

/** @param {string[]} pids */
function cpuMs(pids) {
  const used = pids.map((pid) => {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ');
    return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
  });
  return used.reduce((sum, ms) => sum + ms, 0);
}

/**
 * @param {(directory: string) => Promise<() => number>} open
 * @returns {import('../harness/scenarios.js').Contender}
 */
const contender = (open) => ({
  whyNot,
  async measure() {
    const directory = makeDirectory();
    await serve(directory, SESSIONS + 20);
    const before = memoryKiB(pidsIn(directory));
    const lost = await open(directory);
    const pids = pidsIn(directory);
    await sleep(1_000);
    const [cpuBefore, start] = [cpuMs(pids), performance.now()];
    await sleep(WINDOW_MS);
    const seconds = (performance.now() - start) / 1e3;
    return {
      'KiB of a session in the server': (memoryKiB(pids) - before) / SESSIONS,
      'CPU of the server ms per s': (cpuMs(pids) - cpuBefore) / seconds,
      lost: lost(),
    };
  },
});

/** @type {import('../harness/scenarios.js').Scenario} */
module.exports = {
  goal: 17,
  group: 'postgres',
  title: `1,000 sessions in PostgreSQL that only live, with a TTL of ${TTL_S} s`,
  rounds: 3,
  contenders: {
    holdfast: contender(openHoldfast),
    [BARE]: contender(openBare),
  },
  goals: [
    { of: 'holdfast', per: BARE, figure: 'KiB of a session in the server', atMost: 2 },
    { of: 'holdfast', figure: 'lost', atMost: 0 },
  ],
};
