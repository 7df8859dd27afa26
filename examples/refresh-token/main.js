'use strict';

// 4 processes of 2 worker threads share one session with rotating refresh tokens, and are killed
// and started again at random moments. The same over several machines. See README.md.

const { once } = require('node:events');
const { mkdtempSync, rmSync } = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { parseArgs } = require('node:util');
const { Crew } = require('./crew.js');
const { Server } = require('./server.js');
const { TokenFile } = require('./token-store.js');

const THREADS = 2;

const USAGE = `node examples/refresh-token/main.js [options]
  --seconds N        how long, from the first use of the session (default 5; with --join,
                     until it is interrupted)
  --processes N      of 2 worker threads each (default 4)
  --lifetime MS      of an access token (default 40; an hour is usual)
  --without-kills    no process is killed
  --without-lock     the same without the locks: it must fail
  --json             the result for machines, nothing else
Over several machines, with HOLDFAST_URL=etcd://…:
  --serve HOST:PORT  only the server, until it is interrupted
  --join URL         only the processes, with that server
`;

/** @typedef {import('./server.js').Machines} Machines */
/** @typedef {{ ok: boolean, machines?: Machines } & Record<string, any>} Result */

/**
 * @typedef {object} Options
 * @property {AbortSignal} end  when to stop
 * @property {() => void} begin  the time that it lasts
 * @property {number} processes
 * @property {number} lifetime
 * @property {boolean} isKilling
 * @property {boolean} withLock
 */

/**
 * Whether the session was never revoked, and no refresh was needless.
 * @param {Server['counts']} counts
 */
const isSound = ({ calls, refreshes, revocations, needlessRefreshes }) =>
  revocations + needlessRefreshes === 0 && refreshes > 0 && calls > 0;

/** @param {Crew['counts']} counts */
const isWell = ({ logouts, failures }) => logouts + failures === 0;

/**
 * The server and the processes, with the tokens in a file.
 * @param {Options} options
 * @returns {Promise<Result>}
 */
async function runAlone({ end, begin, processes, lifetime, isKilling, withLock }) {
  const directory = mkdtempSync(path.join(os.tmpdir(), 'holdfast-session-'));
  const server = new Server(lifetime);
  try {
    const url = await server.listen('127.0.0.1', 0);
    const file = path.join(directory, 'tokens.json');
    await new TokenFile(file).write(server.session.tokens);
    const crew = new Crew(processes, { url, file, directory, withLock, threads: THREADS });
    const crewCounts = await crew.run({ end, begin, isKilling });
    const ok = isSound(server.counts) && isWell(crewCounts);
    return { ...server.counts, ...crewCounts, ok };
  } finally {
    server.close();
    rmSync(directory, { recursive: true, force: true });
  }
}

/**
 * @param {string} place  HOST:PORT
 * @param {Options} options
 * @returns {Promise<Result>}
 */
async function serve(place, { end, begin, lifetime }) {
  const [, host, port] = /^(.+):(\d+)$/.exec(place) ?? [];
  if (port === undefined) throw new TypeError('--serve takes HOST:PORT');
  const server = new Server(lifetime);
  console.error(`serving at ${await server.listen(host, Number(port))}`);
  begin();
  if (!end.aborted) await once(end, 'abort');
  server.close();
  return { ...server.counts, ok: isSound(server.counts) };
}

/**
 * @param {string} url
 * @param {Options} options
 * @returns {Promise<Result>}
 */
async function join(url, { end, begin, processes, isKilling, withLock }) {
  const crew = new Crew(processes, { url, withLock, threads: THREADS });
  const counts = await crew.run({ end, begin, isKilling });
  return { ...counts, ok: isWell(counts) };
}

/** @type {Record<string, string>} */
const TITLES = {
  calls: 'calls of the API',
  refreshes: 'refreshes',
  repetitions: 'refreshes repeated after a death',
  needlessRefreshes: 'refreshes of tokens that had not expired',
  refusedCalls: 'calls with tokens that were replaced',
  revocations: 'sessions revoked',
  lateWrites: 'writes that came too late, and were refused',
  logouts: 'threads that were logged out',
  failures: 'processes that failed',
  kills: 'processes killed',
};

/** @param {Result} result */
function print({ ok, machines = {}, ...counts }) {
  const row = (/** @type {string} */ what, /** @type {unknown} */ value) =>
    console.log(`  ${what.padEnd(46)}${value}`);
  for (const [name, value] of Object.entries(counts)) row(TITLES[name], value);
  for (const [address, { calls, refreshes }] of Object.entries(machines)) {
    row(`of ${address}`, `${calls} calls, ${refreshes} refreshes`);
  }
  console.log(ok ? '\nAll is well.' : '\nNOT well: see the table.');
}

/**
 * When to stop: when the user says so, or so long after begin().
 * @param {number} seconds
 */
function makeClock(seconds) {
  const end = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => end.abort());
  const begin = () => {
    if (seconds !== Infinity) setTimeout(() => end.abort(), seconds * 1000).unref();
  };
  return { end: end.signal, begin };
}

async function main() {
  const { values } = parseArgs({
    options: {
      help: { type: 'boolean' },
      join: { type: 'string' },
      json: { type: 'boolean' },
      lifetime: { type: 'string', default: '40' },
      processes: { type: 'string', default: '4' },
      seconds: { type: 'string' },
      serve: { type: 'string' },
      'without-kills': { type: 'boolean' },
      'without-lock': { type: 'boolean' },
    },
  });
  if (values.help) {
    console.log(USAGE);
    return;
  }
  const { serve: place, join: url } = values;
  const isAlone = place === undefined && url === undefined;
  const seconds = Number(values.seconds ?? (isAlone ? 5 : Infinity));
  const [processes, lifetime] = [Number(values.processes), Number(values.lifetime)];
  if (!(seconds > 0 && lifetime > 0 && processes > 0)) {
    throw new TypeError('--seconds, --processes and --lifetime take a number above 0');
  }
  const clock = makeClock(seconds);
  const isKilling = !values['without-kills'];
  const options = { ...clock, processes, lifetime, isKilling, withLock: !values['without-lock'] };
  let result;
  if (place !== undefined) result = await serve(place, options);
  else if (url !== undefined) result = await join(url, options);
  else result = await runAlone(options);
  if (values.json) console.log(JSON.stringify(result));
  else print(result);
  process.exitCode = result.ok ? 0 : 1;
}

main();
