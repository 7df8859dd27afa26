'use strict';

// The thread of a session: what an agent asks for comes in as messages, and what is decided goes
// back. A blocked event loop of the agent's does not reach it.

const { workerData } = require('node:worker_threads');
const { checkBuild } = require('../../build-id.js');
const { describe } = require('./etcd-errors.js');
const { LockSession } = require('./lock-session.js');
const { MachineLink } = require('./machine-link.js');
const { toRequestIds, SessionWords } = require('./session-words.js');

/** @type {{ port: import('node:worker_threads').MessagePort, place: any, about: any,
 *   words: SharedArrayBuffer }} */
const { port, place, about, words: buffer } = workerData;
const words = new SessionWords(buffer);
words.noteStart();
checkBuild(workerData.build);

/** Counts the messages, for an agent that blocks until there is one. @param {any} message */
function tell(message) {
  port.postMessage(message);
  words.noteMessage();
}

let leaveMachine = () => {};

/** @param {import('./session.js').Session | undefined} begun */
function onSession(begun) {
  words.noteLease(begun?.lease);
  if (begun === undefined) return () => {};
  const cluster = `${begun.clusterId}/${place.prefix}`;
  const link = new MachineLink(cluster, begun.lease, (dead) => void session.revoke(dead));
  link.open();
  leaveMachine = () => link.close();
  return leaveMachine;
}

const onExtended = (/** @type {number} */ leftMs) => words.noteValidity(leftMs);
const session = new LockSession(place, about, tell, { onSession, onExtended });

/**
 * @param {number} id
 * @param {() => Promise<unknown>} answer
 */
async function reply(id, answer) {
  try {
    tell({ type: 'reply', id, value: await answer() });
  } catch (error) {
    tell({ type: 'reply', id, error: describe(error) });
  }
}

async function close() {
  await session.close();
  leaveMachine();
  tell({ type: 'closed' });
  port.close();
}

/** @type {Record<string, (message: any) => void>} */
const COMMANDS = {
  ask: ({ ask }) => session.ask(ask),
  end: ({ number, why }) => session.end(number, why),
  findSelfDeadlock: ({ number, own }) => session.findSelfDeadlock(number, () => toRequestIds(own)),
  isLocked: ({ id, name, min }) => void reply(id, () => session.isLocked(name, min)),
  holdersOf: ({ id, name, max }) => void reply(id, () => session.holdersOf(name, max)),
  inspect: ({ id }) => void reply(id, () => session.inspect()),
  status: ({ id }) => void reply(id, async () => session.status),
  heard: () => session.lostSessions.hear(),
  watch: ({ id, name }) => session.watch(id, name),
  unwatch: ({ id }) => session.unwatch(id),
  close: () => void close(),
};

port.on('message', (message) => COMMANDS[message.type](message));
