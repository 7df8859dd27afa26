'use strict';

const { basename } = require('node:path');
const { isMainThread, parentPort } = require('node:worker_threads');
const { BrokerBackend } = require('../../lib/backends/broker/backend.js');
const { LocalBackend } = require('../../lib/backends/local/backend.js');
const { LocalLockTable } = require('../../lib/backends/local/lock-table.js');
const { openLockManager } = require('../../lib/index.js');
const { LockAgent, describeReason } = require('./lock-agent.js');

/** Backends that answer after request() has returned. */
const LATE = ['broker', 'etcd', 'postgres'];

/** Backends whose answers come from another machine, maybe. */
const REMOTE = ['etcd', 'postgres'];

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
          ? await this.#open(client, args)
          : await this.#agents.get(client)[command](args);
      this.#send({ id, value });
    } catch (error) {
      this.#send({ id, error: describeReason(error) });
    }
  }

  async #open(client, { backend, directory, bucket, callSites = false, connects = true }) {
    const manager = openLockManager({ ...this.#optionsOf(backend, directory, bucket), callSites });
    // Some take places only once they are connected.
    if (connects && LATE.includes(backend)) await manager.query();
    const report = (event) => this.#send({ client, event });
    const settle = REMOTE.includes(backend) ? () => manager.query().catch(checkClosed) : undefined;
    const agent = new LockAgent(manager, report, {
      decidesAtOnce: !LATE.includes(backend),
      settle,
    });
    this.#agents.set(client, agent);
  }

  #optionsOf(backend, directory, bucket) {
    if (backend === 'local') return { backend: new LocalBackend(this.#localTable) };
    if (backend === 'broker') return { backend: new BrokerBackend({ directory, bucket }) };
    if (backend === 'etcd') {
      return { url: `${process.env.HOLDFAST_TEST_ETCD}/${basename(directory)}?ttl=5`, bucket };
    }
    if (backend === 'postgres') {
      return {
        url: process.env.HOLDFAST_TEST_POSTGRES,
        bucket: `${bucket} ${basename(directory)}`,
      };
    }
    return { directory, bucket };
  }
}

/** Of a closed lock manager nothing is under way. @param {Error} error */
function checkClosed(error) {
  if (error.name !== 'InvalidStateError') throw error;
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
