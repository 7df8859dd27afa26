'use strict';

const { fork } = require('node:child_process');
const { once } = require('node:events');
const { join } = require('node:path');
const { Worker } = require('node:worker_threads');
const { AgentHost } = require('./agent-host.js');

const PROGRAM = join(__dirname, 'agent-program.js');

/** The way to an AgentHost: sends it commands, gives its answers and events. */
class HostLink {
  /** Until it is stopped, or has failed. */
  isLiving = true;
  #post;
  #stop;
  #answers = new Map();
  #listeners = new Map();
  #lastId = 0;
  /** Why it has failed. @type {unknown} */
  #failure;

  /**
   * @param {(message: object) => void} post
   * @param {() => Promise<unknown>} stop  ends the host, whatever it is doing
   */
  constructor(post, stop) {
    this.#post = post;
    this.#stop = stop;
  }

  /** Takes a message of the host. */
  receive({ id, value, error, client, event }) {
    if (event !== undefined) {
      this.#listeners.get(client)(event);
      return;
    }
    const { resolve, reject } = this.#answers.get(id);
    this.#answers.delete(id);
    if (error === undefined) resolve(value);
    else reject(Object.assign(new Error(error.message), error));
  }

  /** Everything that waits for an answer fails, and all that follows. */
  fail(error) {
    this.isLiving = false;
    this.#failure = error;
    for (const { reject } of this.#answers.values()) reject(error);
    this.#answers.clear();
  }

  listen(client, listener) {
    this.#listeners.set(client, listener);
  }

  command(client, command, args) {
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    const id = ++this.#lastId;
    return new Promise((resolve, reject) => {
      this.#answers.set(id, { resolve, reject });
      this.#post({ id, client, command, args });
    });
  }

  stop() {
    this.isLiving = false;
    return this.#stop();
  }
}

function linkToThisThread() {
  const host = new AgentHost((message) => link.receive(message));
  const link = new HostLink(
    (message) => host.handle(message),
    async () => {},
  );
  return link;
}

function linkToWorker() {
  const worker = new Worker(PROGRAM);
  const link = new HostLink(
    (message) => worker.postMessage(message),
    () => worker.terminate(),
  );
  worker.on('message', (message) => link.receive(message));
  worker.on('error', (error) => link.fail(error));
  return link;
}

function linkToProcess() {
  const child = fork(PROGRAM, { serialization: 'advanced', execArgv: [] });
  const hasExited = once(child, 'exit');
  const link = new HostLink(
    (message) => child.send(message),
    () => {
      child.kill('SIGKILL');
      return hasExited;
    },
  );
  child.on('message', (message) => link.receive(message));
  hasExited.then(([code, signal]) => link.fail(new Error(`the process ended: ${code ?? signal}`)));
  return link;
}

const OPENERS = { main: linkToThisThread, worker: linkToWorker, process: linkToProcess };

/** @param {'main' | 'worker' | 'process'} hostKind */
const openHost = (hostKind) => OPENERS[hostKind]();

module.exports = { HostLink, openHost };
