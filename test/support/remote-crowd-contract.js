'use strict';

const { fork } = require('node:child_process');
const { once } = require('node:events');
const { mkdtempSync, rmSync } = require('node:fs');
const { tmpdir } = require('node:os');
const path = require('node:path');
const { openLockManager } = require('../../lib/index.js');
const { FencedResource } = require('./fenced-resource.js');

const PROGRAM = path.join(__dirname, 'remote-crowd-program.js');
const PROCESSES = 4;
/** So many of them get their turn before all leave. */
const TURNS = 200;

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/**
 * @param {() => Promise<any>} startServer  see remote-servers.js
 * @param {number} WAITERS
 */
function describeCrowd(startServer, WAITERS) {
  const children = [];
  let directory;
  let cluster;
  let resource;
  beforeAll(async () => {
    directory = mkdtempSync(path.join(tmpdir(), 'holdfast-'));
    resource = new FencedResource(path.join(directory, 'socket'));
    cluster = await startServer();
  });
  afterAll(async () => {
    for (const child of children) child.kill('SIGKILL');
    await resource.stop();
    await cluster.stop();
    rmSync(directory, { recursive: true });
  });

  test(`${WAITERS} waiters for one lock are granted in order and leave nothing`, async () => {
    const url = cluster.url('crowd', '?ttl=60');
    const locks = openLockManager({ url });
    const gate = await locks.acquire('crowd');
    const begin = performance.now();
    const about = { url, socket: resource.path, name: 'crowd', requests: WAITERS / PROCESSES };
    for (let i = 0; i < PROCESSES; i += 1) {
      const env = { ...process.env, HOLDFAST_DIR: directory };
      children.push(fork(PROGRAM, [JSON.stringify(about)], { execArgv: [], env }));
    }
    const ends = children.map((child) => once(child, 'exit'));
    await Promise.all(children.map((child) => once(child, 'message')));
    const queued = performance.now();
    expect((await locks.query()).pending).toHaveLength(WAITERS);
    gate.release();
    const released = performance.now();
    while (resource.judge.counts.entered < TURNS) await sleep(20);
    const drained = performance.now();
    for (const child of children) child.send('exit');
    for (const [code, signal] of await Promise.all(ends)) expect([code, signal]).toEqual([0, null]);
    // A process that ends may have waited too short a time for the server: then the next one finds
    // what it has left.
    await locks.request('crowd', () => {});
    locks.close();
    while ((await cluster.keys()).length > 0) await sleep(200);
    console.log(
      `${WAITERS} queued in ${Math.round(queued - begin)} ms, ` +
        `${TURNS} hand-overs in ${Math.round(drained - released)} ms, ` +
        `all gone after ${Math.round(performance.now() - drained)} ms`,
    );
    expect(resource.judge.faults).toEqual([]);
  });
}

module.exports = { describeCrowd };
