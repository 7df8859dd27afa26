'use strict';

const { mkdtempSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { BrokerStress } = require('../support/broker-stress.js');
const { lengthOf } = require('../support/lengths.js');

// HOLDFAST_RUNTIMES (`npm test -- runtimes`) runs the processes on several runtimes in turn.
// HOLDFAST_SEED=<seed> repeats the draws; HOLDFAST_STRESS_KILLS, HOLDFAST_STRESS_PROCESSES and
// HOLDFAST_STRESS_GRANTS make it longer and larger (`npm test -- broker`).
const SEED = Number(process.env.HOLDFAST_SEED ?? Math.floor(Math.random() * 2 ** 31));
const KILLS = lengthOf('HOLDFAST_STRESS_KILLS', { whole: 10, part: 7 });
const GRANTS = Number(process.env.HOLDFAST_STRESS_GRANTS ?? 0);
const PROCESSES = Number(process.env.HOLDFAST_STRESS_PROCESSES ?? 2);
const ITSELF = {
  command: process.execPath,
  args: process.versions.deno === undefined ? [] : ['run', '-A'],
};
/** @type {{ command: string, args: string[] }[]} */
const RUNTIMES = Object.values(JSON.parse(process.env.HOLDFAST_RUNTIMES ?? 'null') ?? [ITSELF]);
const MS_PER_KILL = 5000; // a watchdog

let stress;
beforeAll(() => {
  stress = new BrokerStress(mkdtempSync(join(tmpdir(), 'holdfast-')), {
    commands: RUNTIMES.map(({ command, args }) => [command, ...args]),
    processes: PROCESSES,
    seed: SEED,
  });
});
afterAll(() => stress.remove());

const PROMISE =
  'no two holders overlap, no request is forgotten, or overtaken except by more urgent ones';

test(
  `${PROMISE} (HOLDFAST_SEED=${SEED})`,
  async () => {
    const { violations, grants, mostOvertakes } = await stress.run({
      kills: KILLS,
      grants: GRANTS,
    });
    const { killed, brokersKilled } = stress;
    console.log(`${killed.size} clients and ${brokersKilled} brokers killed, ${grants} grants`);
    console.log(`the most overtakes of one request: ${mostOvertakes}`);
    expect(violations).toEqual([]);
    expect(grants).toBeGreaterThan(KILLS);
  },
  60_000 + KILLS * MS_PER_KILL + GRANTS,
);
