'use strict';

// The thread of a session: what an agent asks for comes in as messages, and what is decided goes
// back. A blocked event loop of the agent's does not reach it.

const { workerData } = require('node:worker_threads');
const { checkBuild } = require('../../build-id.js');
const { inSessions, SharedState } = require('./shared-state.js');

/** @typedef {keyof typeof ENGINES} EngineName */

/**
 * @typedef {object} Thread  the parts of this thread that an engine uses
 * @property {(message: any) => void} post  to the agent
 * @property {import('./shared-state.js').SharedState} state  that the agent reads
 * @property {() => Promise<any>} requestAnswer  of the agent: its password
 */

const ENGINES = {
  etcd: () => require('../etcd/engine.js'),
  postgres: () => require('../postgres/engine.js'),
};

/** @type {{ engine: EngineName, port: import('node:worker_threads').MessagePort, options: any,
 *   agent: any, state: SharedArrayBuffer }} */
const { engine, port, options, agent, state: buffer } = workerData;
const state = new SharedState(buffer);
state.noteStart();
checkBuild(workerData.build);

/** Counts the messages, for an agent that blocks until there is one. @param {any} message */
function post(message) {
  port.postMessage(message);
  state.noteMessage();
}

const { openSession, describe } = ENGINES[engine]();
/** Questions to the agent, such as for its password. @type {Map<number, (message: any) => void>} */
const questions = new Map();
let lastQuestion = 0;

/** @returns {Promise<any>} the answer */
function requestAnswer() {
  lastQuestion += 1;
  const id = lastQuestion;
  post({ type: 'question', id });
  return new Promise((resolve, reject) => {
    questions.set(id, ({ value, error }) =>
      error === undefined ? resolve(value) : reject(new Error(error)),
    );
  });
}

const session = openSession(options, agent, { post, state, requestAnswer });

/**
 * @param {number} id
 * @param {() => Promise<unknown>} answer
 */
async function reply(id, answer) {
  try {
    post({ type: 'reply', id, value: await answer() });
  } catch (error) {
    post({ type: 'reply', id, error: describe(error) });
  }
}

/** @type {Promise<void> | undefined} */
let end;

async function close() {
  await session.close();
  post({ type: 'closed' });
  port.close();
}

/** @type {Record<string, (message: any) => void>} */
const COMMANDS = {
  enqueue: ({ request }) => session.enqueue(request),
  end: ({ number, why }) => session.end(number, why),
  changePriority: ({ number, priority }) => session.changePriority(number, priority),
  watchContention: ({ number }) => session.watchContention(number),
  findSelfDeadlock: ({ number, own }) => session.findSelfDeadlock(number, () => inSessions(own)),
  isLocked: ({ id, name, min }) => void reply(id, () => session.isLocked(name, min)),
  holdersOf: ({ id, name, max }) => void reply(id, () => session.holdersOf(name, max)),
  inspect: ({ id }) => void reply(id, () => session.inspect()),
  status: ({ id }) => void reply(id, async () => session.status),
  lossesReported: () => session.onLossesReported(),
  watch: ({ id, name }) => session.watch(id, name),
  unwatch: ({ id }) => session.unwatch(id),
  several: ({ messages }) => messages.forEach(onMessage),
  answer: (message) => {
    questions.get(message.id)?.(message);
    questions.delete(message.id);
  },
  close: () => void (end ??= close()),
};

/** @param {any} message */
const onMessage = (message) => COMMANDS[message.type](message);
port.on('message', onMessage);
