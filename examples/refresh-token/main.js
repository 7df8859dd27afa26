'use strict';

// 4 processes of 2 worker threads share one session with rotating refresh tokens, and are killed
// and started again at random moments. See README.md.

const { fork } = require('node:child_process');
const { once } = require('node:events');
const { mkdtempSync, rmSync } = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { setTimeout: pause } = require('node:timers/promises');
const { parseArgs } = require('node:util');
const { Session, createAuthority } = require('./authority.js');
const { TokenFile } = require('./client.js');

const PROCESSES = 4;
const THREADS = 2;
const LIFETIME_MS = 40; // of an access token; an hour as a rule
const MAX_PAUSE_MS = 800; // between two kills

const USAGE = `node examples/refresh-token/main.js [options]
  --seconds N      how long (default 5)
  --without-lock   the same without the locks: it must fail
  --json           the result for machines, nothing else
`;

/**
 * @typedef {Session['counts'] & { kills: number, logouts: number, ok: boolean }} Result
 */

/**
 * @param {string} directory  for the tokens and the locks
 * @param {{ seconds: number, withLock: boolean }} options
 * @returns {Promise<Result>}
 */
async function run(directory, { seconds, withLock }) {
  const session = new Session(LIFETIME_MS);
  const server = createAuthority(session).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  const file = path.join(directory, 'tokens.json');
  new TokenFile(file).write(session.tokens);

  let logouts = 0;
  const task = { url: `http://127.0.0.1:${port}`, file, directory, withLock, threads: THREADS };
  const start = () => {
    const child = fork(path.join(__dirname, 'worker.js'), [JSON.stringify(task)]);
    child.on('message', () => (logouts += 1));
    child.on('error', () => {}); // told to stop when it had just gone
    return { child, closed: new Promise((resolve) => child.once('close', resolve)) };
  };

  const children = Array.from({ length: PROCESSES }, start);
  const end = Date.now() + seconds * 1000;
  let kills = 0;
  while (Date.now() < end && logouts === 0) {
    await pause(Math.random() * MAX_PAUSE_MS);
    const place = Math.floor(Math.random() * PROCESSES);
    if (children[place].child.kill('SIGKILL')) kills += 1;
    children[place] = start();
  }
  for (const { child } of children) if (child.connected) child.send('stop');
  await Promise.all(children.map(({ closed }) => closed));
  server.close();
  server.closeAllConnections();
  const { revocations, needlessRefreshes, refreshes } = session.counts;
  const ok = revocations + logouts + needlessRefreshes === 0 && refreshes > 0;
  return { ...session.counts, kills, logouts, ok };
}

/** @param {Result} result */
function print(result) {
  const rows = [
    ['calls of the API', result.calls],
    ['refreshes', result.refreshes],
    ['refreshes of tokens that had not expired', result.needlessRefreshes],
    ['calls with tokens that were replaced', result.refusedCalls],
    ['sessions revoked', result.revocations],
    ['threads that were logged out', result.logouts],
    ['processes killed', result.kills],
  ];
  for (const [what, value] of rows) console.log(`  ${String(what).padEnd(44)}${value}`);
  console.log(result.ok ? '\nAll is well.' : '\nNOT well: see the table.');
}

async function main() {
  const { values } = parseArgs({
    options: {
      help: { type: 'boolean' },
      json: { type: 'boolean' },
      seconds: { type: 'string', default: '5' },
      'without-lock': { type: 'boolean' },
    },
  });
  if (values.help) {
    console.log(USAGE);
    return;
  }
  const seconds = Number(values.seconds);
  if (!(seconds > 0)) throw new TypeError('--seconds takes a number above 0');
  const directory = mkdtempSync(path.join(os.tmpdir(), 'holdfast-session-'));
  try {
    const result = await run(directory, { seconds, withLock: !values['without-lock'] });
    if (values.json) console.log(JSON.stringify(result));
    else print(result);
    process.exitCode = result.ok ? 0 : 1;
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

main();
