'use strict';

const { fork } = require('node:child_process');
const { once } = require('node:events');
const { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } = require('node:fs');
const { tmpdir } = require('node:os');
const path = require('node:path');
const { EtcdCluster, sleep } = require('../support/etcd-cluster.js');
const { checkStormLog } = require('../support/etcd-storm-log.js');

const PROGRAM = path.join(__dirname, '..', 'support', 'etcd-storm-program.js');
const PROCESSES = 4;
const STORM_MS = Number(process.env.HOLDFAST_ETCD_STORM_MS ?? 8_000);
const seed = Number(process.env.HOLDFAST_SEED ?? Date.now() % 1_000_000);

let directory;
let log;
let cluster;
const children = new Set();

function startChild(url, number) {
  const child = fork(PROGRAM, [url, log, String(seed + number)], { execArgv: [] });
  children.add(child);
  const exited = once(child, 'exit').then(([code, signal]) => {
    children.delete(child);
    return { code, signal };
  });
  return { child, exited };
}

async function killOne(running, url, number) {
  const [victim] = running.splice(number % running.length, 1);
  victim.child.kill('SIGKILL');
  await victim.exited;
  appendFileSync(log, `dead ${victim.child.pid}\n`);
  running.push(startChild(url, number));
}

async function stopAll(running) {
  for (const { child } of running) child.send('stop');
  return Promise.all(running.map(({ exited }) => exited));
}

/** Every key is gone, at the latest with the leases of the dead. */
async function untilEmpty() {
  while ((await cluster.keys()).length > 0) await sleep(200);
}

/**
 * @param {number} size
 * @param {(running: object[], url: string, round: number) => Promise<void>} fault  again and again
 */
async function storm(size, fault) {
  console.log(`seed ${seed}`);
  cluster = await EtcdCluster.start({ size });
  const url = cluster.url('storm', '?ttl=5');
  const running = Array.from({ length: PROCESSES }, (_, number) => startChild(url, number));
  const end = Date.now() + STORM_MS;
  for (let round = PROCESSES; Date.now() < end; round += 1) {
    await sleep(1_000);
    await fault(running, url, round);
  }
  const ends = await stopAll(running);
  expect(ends).toEqual(ends.map(() => ({ code: 0, signal: null })));
  const { faults, entered, told } = checkStormLog(readFileSync(log, 'utf8'));
  console.log(`${entered} grants, ${told} losses told`);
  expect(faults).toEqual([]);
  expect(entered).toBeGreaterThan(PROCESSES);
  await untilEmpty();
}

beforeEach(() => {
  directory = mkdtempSync(path.join(tmpdir(), 'holdfast-'));
  log = path.join(directory, 'log');
  writeFileSync(log, '');
});
afterEach(async () => {
  for (const child of children) child.kill('SIGKILL');
  await cluster?.stop();
  rmSync(directory, { recursive: true });
});

test('processes are killed: nobody is beside another, nothing is left behind', () =>
  storm(1, killOne));

test('the leader is killed and comes back: nobody is beside another', () =>
  storm(3, async () => {
    const leader = await cluster.leader();
    if (leader === undefined) return;
    await leader.kill();
    await sleep(500);
    leader.start(cluster.members);
    await leader.untilListening();
    await cluster.untilHealthy();
  }));

test('the leader is stopped for longer than an election: nobody is beside another', () =>
  storm(3, async () => {
    const leader = await cluster.leader();
    leader?.signal('SIGSTOP');
    await sleep(3_000);
    leader?.signal('SIGCONT');
    await cluster.untilHealthy();
  }));

test('the checker finds a second holder and a smaller token', () => {
  const lines = ['enter a exclusive 1:5 5', 'enter a exclusive 2:4 4'];
  expect(checkStormLog(lines.join('\n')).faults).toHaveLength(2);
  const told = ['enter a exclusive 1:5 5', 'told a exclusive 1:5 5', 'enter a exclusive 2:6 6'];
  expect(checkStormLog(told.join('\n')).faults).toEqual([]);
});
