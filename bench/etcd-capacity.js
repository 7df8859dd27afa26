'use strict';

// node bench/etcd-capacity.js: what clusters of etcd carry, simulated with the costs that
// etcd-costs.js has measured; first, how far the simulation agrees with what was measured.
// node bench/etcd-capacity.js --members 5 --clients 1000 …: one answer.

const path = require('node:path');
const { parseArgs } = require('node:util');
const { fitCosts } = require('./capacity/fit.js');
const { simulate } = require('./capacity/simulate.js');

const USAGE = `node bench/etcd-capacity.js [options]
Without any: the tables of docs/etcd-capacity.md.
  --members N    of a cluster (5)          --clusters K   that share the names (1)
  --clients N    that want a lock (100)    --waiters N    clients of one name (1)
  --cores N      of each member (4)        --sessions N   that only live (0)
  --sync MS      a write to disk (1)       --peer MS      between members, one way (0.25)
  --way MS       client to member (0.25)   --ttl S        of sessions (10)
  --hold MS      a lock is held (0)        --ms N         simulated (2000)
  --seed N       (1)
  --costs JSON   other costs than those measured, like {"applyMs":0.02}
`;

/** Of a data centre, as etcd's documentation has it: see docs/etcd-capacity.md. */
const DEFAULTS = { sync: 1, peer: 0.25, way: 0.25, cores: 4 };

const { machine, results } = require(path.join(__dirname, 'capacity', 'measured.json'));
const here = fitCosts(results);

const rounded = (value, digits = 2) => Number(value.toFixed(digits));

/** The simulation of what was measured: all on one machine, clients at the leader. */
function check() {
  const asked = results.filter(({ clients }) => clients > 0);
  const rows = asked.map(({ size, clients, waiters, locks, seconds, entries, rounds }) => {
    const found = simulate({
      costs: here,
      size,
      clients,
      waiters,
      cores: machine.cores,
      isOneMachine: true,
      asksLeader: true,
      threads: waiters > 1 ? 2 : 1,
    });
    return {
      members: size,
      clients,
      waiters,
      'measured/s': Math.round(locks / seconds),
      'simulated/s': Math.round(found.locksPerSecond),
      ratio: rounded(found.locksPerSecond / (locks / seconds)),
      'measured a round': rounded(entries / rounds, 1),
      'simulated a round': rounded(found.perRound, 1),
    };
  });
  console.table(rows);
}

/** @param {Partial<import('./capacity/simulate.js').Question> & typeof DEFAULTS} options */
function ask({ sync, peer, way, ...question }) {
  const costs = { ...here, syncMs: sync, peerMs: peer, clientMs: way, ...question.costs };
  return simulate({ size: 5, clients: 100, ...question, costs });
}

/** @param {object} labels @param {ReturnType<typeof simulate>} found */
const toRow = (labels, found) => ({
  ...labels,
  'locks/s': Math.round(found.locksPerSecond),
  'ms a lock': rounded(found.lockMs, 1),
  p99: rounded(found.lockMsP99, 1),
  'a round': rounded(found.perRound, 1),
  'leader busy': rounded(found.leaderBusy),
  'follower busy': rounded(found.followerBusy),
});

/** @param {string} title @param {object[]} questions  each with what it differs in */
function table(title, questions) {
  console.log(`\n${title}`);
  console.table(questions.map((it) => toRow(it, ask({ ...DEFAULTS, ...it }))));
}

function printAll() {
  console.log('Costs in ms, from what was measured:');
  const shown = Object.entries(here).map(([name, ms]) => [name, rounded(ms, 4)]);
  console.log(Object.fromEntries(shown));
  console.log('\nThe simulation beside what was measured here:');
  check();
  const counts = [1, 10, 100, 1_000, 5_000];
  table(
    'Five members, each client with a name of its own',
    counts.map((clients) => ({ clients })),
  );
  table(
    'Members',
    [1, 3, 5, 7].map((size) => ({ size, clients: 1_000 })),
  );
  table(
    'Cores of a member',
    [2, 4, 8, 16].map((cores) => ({ cores, clients: 1_000 })),
  );
  table(
    'A write to disk, in ms',
    [0.1, 1, 2, 10].map((sync) => ({ sync, clients: 1_000 })),
  );
  table(
    'Between members, one way, in ms',
    [0.1, 0.25, 1, 10].map((peer) => ({ peer, clients: 1_000 })),
  );
  const one = (waiters) => ({ clients: waiters, waiters });
  table('One name that all want', [2, 32, 320].map(one));
  const sessions = [0, 1_000, 10_000, 30_000];
  table(
    'Sessions that only live, beside',
    sessions.map((it) => ({ sessions: it, clients: 100 })),
  );
  const shares = [1, 2, 4, 8];
  table(
    'Names divided between clusters',
    shares.map((clusters) => ({ clusters, clients: 4_000 })),
  );
}

function main() {
  const number = { type: /** @type {const} */ ('string') };
  const names = ['members', 'clients', 'waiters', 'clusters', 'cores', 'sessions', 'ttl'];
  const times = ['sync', 'peer', 'way', 'hold', 'ms', 'seed', 'costs'];
  const options = Object.fromEntries([...names, ...times].map((name) => [name, number]));
  const { values } = parseArgs({ options: { ...options, help: { type: 'boolean' } } });
  if (values.help) {
    console.log(USAGE);
    return;
  }
  if (Object.keys(values).length === 0) {
    printAll();
    return;
  }
  const { costs = '{}', ttl = '10', hold = '0', members = '5', ...rest } = values;
  const numbers = Object.fromEntries(Object.entries(rest).map(([key, it]) => [key, Number(it)]));
  const bad = Object.entries({ ttl, hold, members, ...numbers }).find(([, it]) => !(it >= 0));
  if (bad !== undefined) throw new TypeError(`--${bad[0]} takes a number from 0`);
  const question = { size: Number(members), ttlMs: Number(ttl) * 1_000, holdMs: Number(hold) };
  console.log(ask({ ...DEFAULTS, ...question, ...numbers, costs: JSON.parse(costs) }));
}

main();
