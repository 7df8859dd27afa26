'use strict';

const { fork, spawn } = require('node:child_process');
const { once } = require('node:events');
const fs = require('node:fs');
const net = require('node:net');
const { tmpdir } = require('node:os');
const path = require('node:path');
const { BrokerBackend } = require('../../lib/backends/broker/backend.js');
const { BrokerFiles } = require('../../lib/backends/broker/broker-files.js');
const { openLockManager } = require('../../lib/index.js');
const { killBroker, removeLocks } = require('../support/broker-process.js');

const BROKER = path.join(__dirname, '../../lib/backends/broker/server/main.js');
const PROGRAM = path.join(__dirname, 'broker-descriptors-program.js');
const FEW_DESCRIPTORS = 'ulimit -n 40; exec "$0" "$@"';
const MORE_THAN_FEW = 60;
const WATCHDOG_MS = 600_000;

let directory;
let files;
let locks;
let child;
beforeEach(() => {
  child = undefined;
  directory = fs.mkdtempSync(path.join(tmpdir(), 'holdfast-'));
  files = new BrokerFiles('default', directory);
  locks = openLockManager({ backend: new BrokerBackend({ directory }) });
});
afterEach(() => {
  child?.kill('SIGKILL');
  locks.close();
  removeLocks(files);
});

const epoch = () => files.readEpoch(files.highestEpoch());

/** @returns {Promise<net.Socket>} that the kernel has connected */
async function connect() {
  const socket = net.connect(epoch().socket);
  socket.on('error', () => {});
  socket.resume(); // to its end
  await Promise.race([once(socket, 'connect'), once(socket, 'close')]);
  return socket;
}

test('clients too many for a broker are refused, and no client loses a lock', async () => {
  files.ensure();
  const options = JSON.stringify({
    build: 'source',
    directory,
    bucket: 'default',
    number: 1,
    idleMs: 10_000,
  });
  child = spawn('sh', ['-c', FEW_DESCRIPTORS, process.execPath, BROKER, options]);
  while (epoch() === undefined) await new Promise((resolve) => setTimeout(resolve, 5));
  const lock = await locks.acquire('a');
  const sockets = await Promise.all(Array.from({ length: MORE_THAN_FEW }, connect));
  // The kernel has connected all of them: the broker ends those that are too many.
  await Promise.race(sockets.map((socket) => socket.destroyed || once(socket, 'close')));
  await locks.query();
  for (const socket of sockets) socket.destroy();
  expect((await locks.query()).held).toHaveLength(1);
  expect(lock.signal.aborted).toBe(false);
  expect(files.highestEpoch()).toBe(1);
});

test('a client without a descriptor left keeps its lock when the broker dies', async () => {
  child = fork(PROGRAM, [directory], {
    execPath: '/bin/sh',
    execArgv: ['-c', 'ulimit -n 64; exec "$0" "$@"', process.execPath],
  });
  expect(await once(child, 'message')).toEqual(['holding', undefined]);
  killBroker(files);
  expect(await locks.request('a', { ifAvailable: true }, (lock) => lock)).toBe(null);
  child.send('continue');
  expect(await once(child, 'message')).toEqual(['held', undefined]);
  expect(await locks.request('a', () => 'granted')).toBe('granted');
});

describe('when a broker dies, and the next one has fewer descriptors than clients,', () => {
  const { execPath } = process;
  let crowd;
  beforeEach(() => {
    const open = () => openLockManager({ backend: new BrokerBackend({ directory }) });
    crowd = Array.from({ length: MORE_THAN_FEW }, open);
    const program = path.join(directory, 'few');
    const lines = ['#!/bin/sh', `set -- '${execPath}' "$@"`, FEW_DESCRIPTORS.replace('"$0" ', '')];
    fs.writeFileSync(program, lines.join('\n'), { mode: 0o700 });
  });
  afterEach(() => {
    process.execPath = execPath;
    for (const one of crowd) one.close();
  });

  test(
    'it serves as many as it can, and the others learn why their locks are lost',
    async () => {
      const held = await Promise.all(crowd.map((one, i) => one.acquire(`lock ${i}`)));
      process.execPath = path.join(directory, 'few');
      killBroker(files);
      while (files.highestEpoch() === 1) await new Promise((resolve) => setTimeout(resolve, 5));
      const answers = await Promise.allSettled(crowd.map((one) => one.query()));
      for (const [i, { reason }] of answers.entries()) {
        expect(held[i].signal.aborted).toBe(reason !== undefined);
        if (reason === undefined) continue;
        expect(reason.name).toBe('InvalidStateError');
        expect(reason.message).toContain('no descriptor for a further client');
        expect(held[i].signal.reason.message).toContain('no descriptor for a further client');
      }
      const served = answers.filter(({ status }) => status === 'fulfilled');
      expect(served.length).toBeGreaterThan(0);
      expect(served.length).toBeLessThan(MORE_THAN_FEW);
      expect(files.highestEpoch()).toBe(2);
    },
    WATCHDOG_MS,
  );
});
