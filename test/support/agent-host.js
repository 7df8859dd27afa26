'use strict';

const { isMainThread, parentPort } = require('node:worker_threads');
const { LocalBackend } = require('../../lib/backends/local/backend.js');
const { LocalLockTable } = require('../../lib/backends/local/lock-table.js');
const { openLockManager } = require('../../lib/index.js');
const { LockAgent, describeReason } = require('./lock-agent.js');

/**
 * The clients of one thread. Speaks by messages; run as a program it is a worker thread's or a
 * process's whole work.
 */
class AgentHost {
  #send;
  #agents = new Map();
  #localTable = new LocalLockTable();

  /** @param {(message: object) => void} send */
  constructor(send) {
    this.#send = send;
  }

  /** Carries out one command and answers it. */
  async handle({ id, client, command, args }) {
    try {
      const value =
        command === 'open'
          ? this.#open(client, args)
          : await this.#agents.get(client)[command](args);
      this.#send({ id, value });
    } catch (error) {
      this.#send({ id, error: describeReason(error) });
    }
  }

  #open(client, { backend, directory, bucket, callSites = false }) {
    const manager =
      backend === 'local'
        ? openLockManager({ backend: new LocalBackend(this.#localTable), callSites })
        : openLockManager({ directory, bucket, callSites });
    const agent = new LockAgent(manager, (event) => this.#send({ client, event }));
    this.#agents.set(client, agent);
  }
}

function serve() {
  if (!isMainThread) {
    const host = new AgentHost((message) => parentPort.postMessage(message));
    parentPort.on('message', (message) => host.handle(message));
    return;
  }
  const host = new AgentHost((message) => process.send(message));
  process.on('message', (message) => host.handle(message));
  process.on('disconnect', () => process.exit());
}

module.exports = { AgentHost, serve };
