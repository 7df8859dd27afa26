'use strict';

// 4 processes of 2 worker threads append to one ledger under a lock. A fifth process audits the
// ledger under a shared lock, and one holder is killed in the middle. See README.md.

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { parseArgs } = require('node:util');
const { GROUP, PROCESSES, Run, THREADS } = require('./run.js');
const { plainView, silentView, terminalView } = require('./view.js');

const USAGE = `npm run demo -- [options]
  --increments N   entries of the ledger (default 40000)
  --without-lock   the same without the lock: it must fail
  --json           the result for machines, nothing else
`;

/**
 * Prepares the directory of locks, and the ledger in it, for the members of a group, as
 * `holdfast share` does.
 * @param {string} directory
 * @param {string} file
 */
function share(directory, file) {
  fs.chownSync(directory, 0, Number(GROUP));
  fs.chmodSync(directory, 0o2770);
  fs.closeSync(fs.openSync(file, 'w'));
  fs.chmodSync(file, 0o660);
}

/** @param {import('./run.js').Result} result */
function toTable(result) {
  const kill = result.killToGrantMs === null ? 'none' : `${result.killToGrantMs.toFixed(2)} ms`;
  const rows = [
    ['increments expected', result.expected],
    ['increments found', result.found],
    ['order violations', result.violations],
    ['order violations seen by the auditor', result.auditViolations],
    ['audits under a shared lock', result.audits],
    ['grants per second', result.grantsPerSecond],
    ['from SIGKILL of the holder to the next grant', kill],
  ];
  return rows.map(([what, value]) => `  ${String(what).padEnd(46)}${value}`).join('\n');
}

async function main() {
  process.exitCode = 1; // until all has been found well
  const { values } = parseArgs({
    options: {
      help: { type: 'boolean' },
      increments: { type: 'string', default: '40000' },
      json: { type: 'boolean' },
      'without-lock': { type: 'boolean' },
    },
  });
  if (values.help) {
    process.exitCode = 0;
    console.log(USAGE);
    return;
  }
  const increments = Number(values.increments);
  if (!Number.isInteger(increments) || increments < 100) {
    throw new TypeError('--increments takes a whole number from 100');
  }
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'holdfast-demo-'));
  try {
    const task = {
      file: path.join(directory, 'ledger'),
      directory,
      increments,
      withLock: !values['without-lock'],
    };
    if (GROUP !== '') share(directory, task.file);
    if (!values.json) console.log(`${PROCESSES} processes x ${THREADS} worker threads, one ledger`);
    const drawn = process.stdout.isTTY ? terminalView : plainView;
    const result = await new Run(task, values.json ? silentView : drawn(increments)).finish();
    if (values.json) console.log(JSON.stringify(result));
    else console.log(`\n${toTable(result)}\n`);
    if (!values.json) console.log(result.ok ? 'All is well.' : 'NOT well: see the table.');
    process.exitCode = result.ok ? 0 : 1;
  } finally {
    fs.rmSync(directory, { recursive: true, force: true });
  }
}

main();
