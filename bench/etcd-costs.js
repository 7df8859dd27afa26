'use strict';

// node bench/etcd-costs.js [ms]: what locks cost clusters of one, three and five members here, and
// writes it to capacity/measured.json, from which etcd-capacity.js takes its costs.

const { spawnSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { measureCluster } = require('./capacity/measure.js');

const FILE = path.join(__dirname, 'capacity', 'measured.json');
const SIZES = [1, 3, 5];
const CLIENTS = [1, 8, 64];
const MS = 4_000;
const OF_ONE = '--size';

/** In a process of its own: its members end with it. */
function measure(size, ms) {
  const words = [__filename, OF_ONE, String(size), String(ms)];
  const { status, stdout } = spawnSync(process.execPath, words, {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  if (status !== 0) throw new Error(`${size} members could not be measured`);
  return JSON.parse(stdout);
}

function measureAll(ms) {
  const machine = {
    cores: os.availableParallelism(),
    processor: os.cpus()[0].model,
    node: process.version,
    loadBefore: os.loadavg()[0],
  };
  const results = SIZES.flatMap((size) => measure(size, ms));
  fs.writeFileSync(FILE, `${JSON.stringify({ machine, results }, null, 2)}\n`);
  const rows = results.map(({ size, clients, waiters, locks, seconds, entries, rounds }) => ({
    size,
    clients,
    waiters,
    'locks/s': Math.round(locks / seconds),
    'ms a lock': Number(((clients * seconds * 1e3) / locks).toFixed(2)),
    'entries a lock': Number((entries / locks).toFixed(2)),
    'entries a round': Number((entries / rounds).toFixed(1)),
  }));
  console.table(rows);
}

async function main() {
  const [first = String(MS), size, ms] = process.argv.slice(2);
  if (first !== OF_ONE) {
    measureAll(Number(first));
    return;
  }
  const results = await measureCluster(Number(size), CLIENTS, Number(ms));
  process.stdout.write(JSON.stringify(results), () => process.exit());
}

main();
