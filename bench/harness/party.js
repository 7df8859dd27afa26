'use strict';

// One party of a contest or several, as a worker thread or as a process. A party asks for the lock
// again before its release, so that a request waits at any time. So a fair lock is handed over at
// each release, whatever the scheduler of the system does.

const { parentPort, workerData } = require('node:worker_threads');
const { loadPeer } = require('../peers/peers.js');
const { SectionLog, now } = require('./section-log.js');

const MAX_SECTIONS = 2_000_000;
/** After its end a party lets others have what they still wait for. */
const REST_MS = 150;

const host = parentPort ?? process;
const nextMessage = () => new Promise((resolve) => host.once('message', resolve));
const send = (message) =>
  parentPort === null ? process.send(message) : parentPort.postMessage(message);

/**
 * @param {import('../peers/peers.js').Opened[]} locks two where one cannot ask twice
 * @param {number} end
 */
async function keepRequesting(locks, end) {
  const log = new SectionLog(MAX_SECTIONS);
  let requested = 0;
  let count = 0;
  const requestNext = () => {
    requested = now();
    count += 1;
    locks[count % locks.length].run(section); // a rejection ends the party
  };
  const section = () => {
    const entered = now();
    const requestedAt = requested;
    if (entered < end && !log.isFull) requestNext();
    log.add(requestedAt, entered);
  };
  requestNext();
  // The last party may wait for a party that makes no more requests.
  await new Promise((resolve) => setTimeout(resolve, (end - now()) / 1e6 + REST_MS));
  return log.words;
}

/**
 * Two of it where one cannot be asked twice.
 * @param {import('../peers/peers.js').Peer} peer
 * @param {import('../peers/peers.js').PeerSetup} setup
 */
const openAll = ({ open, instances = 1 }, setup) =>
  Promise.all(Array.from({ length: instances }, () => open(setup)));

/** @param {{ peer: string, setups: import('../peers/peers.js').PeerSetup[], ms: number }} task */
async function takePart({ peer, setups, ms }) {
  const parties = await Promise.all(setups.map((setup) => openAll(loadPeer(peer), setup)));
  // The modules that a first request loads are no hand-over; the scenario `loading` measures them.
  if (!loadPeer(peer).passesTurns) for (const lock of parties.flat()) await lock.run(() => {});
  const keepAlive = setInterval(() => {}, 1000); // not every peer does so while it waits
  send('ready');
  const start = await nextMessage();
  while (now() < start);
  send(await Promise.all(parties.map((locks) => keepRequesting(locks, start + ms * 1e6))));
  await nextMessage();
  for (const { close } of parties.flat()) await close?.();
  clearInterval(keepAlive);
}

if (parentPort === null) {
  process.once('disconnect', () => process.exit());
  nextMessage()
    .then(takePart)
    .then(() => process.exit());
} else {
  takePart(workerData).then(() => process.exit());
}
