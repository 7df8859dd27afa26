'use strict';

const fs = require('node:fs');
const net = require('node:net');
const { tmpdir } = require('node:os');
const path = require('node:path');
const { Worker } = require('node:worker_threads');
const { machineNow } = require('../../lib/backends/broker/machine-clock.js');
const { BrokerFiles } = require('../../lib/backends/broker/broker-files.js');
const {
  openConnectionBarrier,
  openReadingBarrier,
} = require('../../lib/backends/broker/server/broker.js');

const CONNECTIONS = 20;
const ROUNDS = 200;

/** Writes to all connections on a message, and reports when the kernel has it. */
const WRITER = `
  const net = require('node:net');
  const { parentPort, workerData } = require('node:worker_threads');
  const { socket, count } = workerData;
  const sockets = Array.from({ length: count }, () => net.connect(socket));
  Promise.all(sockets.map((one) => new Promise((resolve) => one.on('connect', resolve)))).then(
    () => parentPort.postMessage('connected'),
  );
  parentPort.on('message', async () => {
    await Promise.all(sockets.map((one) => new Promise((resolve) => one.write('x', resolve))));
    parentPort.postMessage('written');
  });`;

let directory;
let files;
beforeEach(() => {
  directory = fs.mkdtempSync(path.join(tmpdir(), 'holdfast-'));
  files = new BrokerFiles('jobs', directory);
  files.ensure();
});
afterEach(() => fs.rmSync(directory, { recursive: true, force: true }));

test.each([
  ['of this runtime', openReadingBarrier],
  ['of runtimes that look at connections when they like', openConnectionBarrier],
])(
  'the barrier %s: what was written before has been read, of every connection',
  async (_whose, open) => {
    const barrier = open(files);
    let read = 0;
    let accepted = 0;
    const server = net.createServer((connection) => {
      accepted += 1;
      connection.on('data', (bytes) => (read += bytes.length));
    });
    const socket = files.newSocketName(files.epochsFolder);
    await new Promise((resolve) => server.listen(socket, resolve));
    const writer = new Worker(WRITER, {
      eval: true,
      workerData: { socket, count: CONNECTIONS },
    });
    const next = () => new Promise((resolve) => writer.once('message', resolve));
    expect(await next()).toBe('connected');
    // The kernel connects before this process accepts; a client of a broker is greeted first.
    while (accepted < CONNECTIONS) await new Promise((resolve) => setImmediate(resolve));
    for (let round = 1; round <= ROUNDS; round += 1) {
      const written = next();
      writer.postMessage('write');
      await written;
      const now = machineNow();
      const allRead = (done) => barrier((since) => (since < now ? allRead(done) : done()));
      await new Promise(allRead);
      expect(read).toBe(round * CONNECTIONS);
    }
    await writer.terminate();
    server.close();
  },
);
