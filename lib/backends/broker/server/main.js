'use strict';

// The broker of a bucket, in a separate process. Arguments: one JSON object, { directory, bucket,
// number, idleMs, build }. It listens, claims the epoch `number`, and serves. It ends when another
// broker has the epoch, or `idleMs` after the last client has left.

const fs = require('node:fs');
const net = require('node:net');
const os = require('node:os');
const { randomBytes } = require('node:crypto');
const { BUILD, REPLACED_STATUS } = require('../../../build-id.js');
const { setTimeout } = require('../../../time.js');
const { Broker, openReadingBarrier } = require('./broker.js');
const { isLeader } = require('./election.js');
const { BrokerFiles, newBrokerSocket } = require('../broker-files.js');
const { maxDescriptors } = require('../platform.js');

/**
 * @param {import('./broker.js').Broker} broker
 * @param {string} socket
 * @returns {Promise<net.Server>} that listens
 */
function listen(broker, socket) {
  return new Promise((resolve, reject) => {
    const server = net.createServer((connection) => broker.accept(connection));
    server.once('error', reject);
    server.listen({ path: socket, exclusive: true }, () => resolve(server));
  });
}

/** For the socket that listens, the watch, journals and all that is open for a moment. */
const OWN_DESCRIPTORS = 12;

/** @returns {number} how many sockets of clients leave this process enough descriptors */
function countSeats() {
  const max = maxDescriptors();
  return max === Infinity ? max : max - fs.readdirSync('/proc/self/fd').length - OWN_DESCRIPTORS;
}

/**
 * `build`: of the program that starts the broker.
 * @typedef {{ build: string, directory: string, bucket: string, number: number, idleMs: number }}
 *   Options
 */

/** @param {Options} options */
async function main({ directory, bucket, number, idleMs, build }) {
  // eslint-disable-next-line n/no-process-exit -- its starter reads the status
  if (build !== BUILD) process.exit(REPLACED_STATUS);
  const files = new BrokerFiles(bucket, directory);
  files.ensure();
  const epoch = {
    number,
    socket: newBrokerSocket(files),
    key: randomBytes(32).toString('hex'),
    pid: process.pid,
    start: await files.platform.startOf?.(process.pid),
  };
  /** @type {import('node:net').Server | undefined} */
  let server = undefined;
  const leave = () => {
    server?.close();
    // eslint-disable-next-line n/no-process-exit -- nothing is left to be done
    process.exit(0);
  };
  const log = (/** @type {string} */ text) => writeLog(`broker ${number}: ${text}`);
  const afterReading = openReadingBarrier(files);
  const maxSockets = countSeats();
  const broker = new Broker(files, epoch, { idleMs, afterReading, maxSockets, onEnd: leave, log });
  server = await listen(broker, epoch.socket);
  files.setSocketMode(epoch.socket);
  if (!(await isLeader(files, epoch))) return leave();
  void broker.recover();
  watchEpochs(files, () => broker.checkPublished());
}

/** A watch may begin some time after fs.watch() has returned: Deno's does. */
const FIRST_CHECKS_MS = [50, 250, 1000];

/**
 * @param {BrokerFiles} files
 * @param {() => void} onChange
 */
function watchEpochs(files, onChange) {
  for (const ms of FIRST_CHECKS_MS) setTimeout(onChange, ms).unref();
  try {
    fs.watch(files.epochsFolder, onChange).on('error', onChange);
  } catch {
    // No watches are left: the epoch is checked when a client connects.
  }
}

/**
 * Standard error goes into the log file, which says what ended the broker.
 * @param {string} text
 */
function writeLog(text) {
  try {
    fs.writeSync(process.stderr.fd, `${text}\n`);
  } catch {
    // The file system is full: the broker has to serve its clients without the line.
  }
}

process.on('uncaughtException', (error) => {
  writeLog(`broker: ${'syscall' in error ? error.message : error.stack}`);
  // eslint-disable-next-line n/no-process-exit -- what it knows may be wrong
  process.exit(1);
});
// It works for all of its clients, so a starter that is nice does not slow it down.
try {
  os.setPriority(0);
} catch {
  // That needs a right which this user does not have.
}
// A broker is of no session: neither ^C nor a closed terminal ends it.
for (const signal of /** @type {const} */ (['SIGINT', 'SIGHUP'])) process.on(signal, () => {});

main(JSON.parse(process.argv[2]));
