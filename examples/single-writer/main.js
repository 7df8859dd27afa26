'use strict';

// 4 processes write numbered entries into one SQLite database. See README.md.

const { fork } = require('node:child_process');
const { once } = require('node:events');
const { mkdtempSync, rmSync } = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { parseArgs } = require('node:util');
const { openStore } = require('./store.js');

const PROCESSES = 4;

const USAGE = `node examples/single-writer/main.js [options]
  --entries N      entries of each process (default 250)
  --without-lock   the same without the lock: it must fail
  --json           the result for machines, nothing else
`;

/**
 * @typedef {object} Result
 * @property {string} kind  of the journal
 * @property {number} expected  entries
 * @property {number} found
 * @property {number} failures  writes that were refused
 * @property {number} violations  entries whose number does not follow the one before
 * @property {boolean} ok
 */

/**
 * @param {string} directory  for the journal and the locks
 * @param {{ entries: number, withLock: boolean }} options
 * @returns {Promise<Result>}
 */
async function run(directory, { entries, withLock }) {
  const task = { directory, path: path.join(directory, 'journal.db'), entries, withLock };
  const store = openStore(task.path);
  const writers = Array.from({ length: PROCESSES }, () =>
    fork(path.join(__dirname, 'writer.js'), [JSON.stringify(task)]),
  );
  await Promise.all(writers.map((writer) => once(writer, 'message'))); // ready
  const failures = await Promise.all(
    writers.map(async (writer) => {
      writer.send('go');
      const [message] = await once(writer, 'message');
      return message.failures;
    }),
  );
  const numbers = store.numbers();
  const result = {
    kind: store.kind,
    expected: PROCESSES * entries,
    found: numbers.length,
    failures: failures.reduce((sum, count) => sum + count, 0),
    violations: numbers.filter((number, i) => number !== i + 1).length,
  };
  const ok = result.found === result.expected && result.failures + result.violations === 0;
  return { ...result, ok };
}

/** @param {Result} result */
function print(result) {
  const rows = [
    ['journal', result.kind],
    ['entries expected', result.expected],
    ['entries found', result.found],
    ['writes refused', result.failures],
    ['numbers out of order', result.violations],
  ];
  for (const [what, value] of rows) console.log(`  ${String(what).padEnd(28)}${value}`);
  console.log(result.ok ? '\nAll is well.' : '\nNOT well: see the table.');
}

async function main() {
  const { values } = parseArgs({
    options: {
      entries: { type: 'string', default: '250' },
      help: { type: 'boolean' },
      json: { type: 'boolean' },
      'without-lock': { type: 'boolean' },
    },
  });
  if (values.help) {
    console.log(USAGE);
    return;
  }
  const entries = Number(values.entries);
  if (!Number.isInteger(entries) || entries < 1) {
    throw new TypeError('--entries takes a whole number from 1');
  }
  const directory = mkdtempSync(path.join(os.tmpdir(), 'holdfast-journal-'));
  try {
    const result = await run(directory, { entries, withLock: !values['without-lock'] });
    if (values.json) console.log(JSON.stringify(result));
    else print(result);
    process.exitCode = result.ok ? 0 : 1;
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

main();
