'use strict';

// A holder is stopped, its lock is stolen, and it writes when it continues. See README.md.

const { fork } = require('node:child_process');
const { once } = require('node:events');
const { mkdtempSync, rmSync } = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { parseArgs } = require('node:util');
const { openDatabase } = require('./database.js');

const USAGE = `node examples/fencing/main.js [options]
  --without-token   the database does not check tokens: it must fail
  --json            the result for machines, nothing else
`;

/** @typedef {{ who: string, value: string, isAccepted: boolean }} Write */

/**
 * @param {string} directory  of the locks
 * @param {boolean} withToken
 */
async function run(directory, withToken) {
  const database = openDatabase();
  /** @type {Write[]} */
  const writes = [];

  /** @param {'previous holder' | 'stealer'} role */
  function start(role) {
    const child = fork(path.join(__dirname, 'writer.js'), [directory, role]);
    child.on('message', (/** @type {any} */ { state, value, token }) => {
      if (state !== 'writes') return;
      const isAccepted = database.write(value, withToken ? BigInt(token) : 0n);
      writes.push({ who: role, value, isAccepted });
    });
    return { child, holds: once(child, 'message'), ended: once(child, 'disconnect') };
  }

  const previous = start('previous holder');
  const previousId = /** @type {number} */ (previous.child.pid);
  await previous.holds;
  process.kill(previousId, 'SIGSTOP'); // Deno's child.kill() would close the channel, too
  previous.child.send('write'); // it reads this when it continues

  const stealer = start('stealer');
  await stealer.holds;
  stealer.child.send('write');
  await stealer.ended;

  process.kill(previousId, 'SIGCONT');
  await previous.ended;
  const value = database.read();
  return { writes, value, ok: value === 'from the stealer' };
}

async function main() {
  const { values } = parseArgs({
    options: {
      help: { type: 'boolean' },
      json: { type: 'boolean' },
      'without-token': { type: 'boolean' },
    },
  });
  if (values.help) {
    console.log(USAGE);
    return;
  }
  const directory = mkdtempSync(path.join(os.tmpdir(), 'holdfast-fencing-'));
  try {
    const result = await run(directory, !values['without-token']);
    if (values.json) console.log(JSON.stringify(result));
    else {
      for (const { who, isAccepted } of result.writes) {
        console.log(`  the ${who} writes: ${isAccepted ? 'accepted' : 'refused'}`);
      }
      console.log(`  the database has the value '${result.value}'`);
      console.log(result.ok ? '\nAll is well.' : '\nNOT well: a late write has won.');
    }
    process.exitCode = result.ok ? 0 : 1;
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

main();
