'use strict';

const { fork } = require('node:child_process');
const { existsSync, readFileSync, rmSync, writeFileSync } = require('node:fs');
const { join } = require('node:path');
const { Worker } = require('node:worker_threads');
const { HostLink } = require('./host-link.js');
const { LockClient, unique } = require('./lock-client.js');

const PROGRAM = join(__dirname, 'process-actor-program.js');

function startThread(options) {
  const worker = new Worker(PROGRAM, { workerData: options, stderr: true });
  worker.on('error', () => {}); // one of the ways to end
  return {
    messages: worker,
    post: (message) => worker.postMessage(message),
    ended: new Promise((resolve) => worker.on('exit', resolve)),
    stop: () => worker.terminate(),
    orders: { 'terminate()': () => worker.terminate() },
  };
}

/**
 * The process id outside of its namespace: `unshare --fork` stays, and the program is its child.
 */
function pidInside(pid) {
  return Number(readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim() || pid);
}

function startProcess({ inside = [], env, ...options }) {
  const [execPath, ...execArgv] = [...inside, process.execPath];
  const child = fork(PROGRAM, [JSON.stringify(options)], {
    serialization: 'advanced',
    silent: true,
    execPath,
    execArgv,
    env: { ...process.env, ...env },
  });
  const getPid = () => (inside.includes('--fork') ? pidInside(child.pid) : child.pid);
  const exited = new Promise((resolve) => {
    child.on('exit', (code, signal) => resolve(signal ?? code));
  });
  const threadEnded = new Promise((resolve) => {
    child.on('message', (message) => {
      if (message.threadEnded !== undefined) resolve(message.threadEnded);
    });
  });
  child.stderr.resume();
  child.on('error', () => {}); // a message to a dead process; its end is reported anyway
  return {
    messages: child,
    post: (message) => child.connected && child.send(message),
    ended: Promise.race([exited, threadEnded]),
    stop: () => {
      child.kill('SIGKILL');
      return exited;
    },
    orders: {
      SIGKILL: () => process.kill(getPid(), 'SIGKILL'),
      SIGTERM: () => process.kill(getPid(), 'SIGTERM'),
      'SIGKILL of its process': () => process.kill(getPid(), 'SIGKILL'),
      'process.exit() of the main thread': () => child.send({ order: 'exit' }),
      'terminate()': () => child.send({ order: 'terminate' }),
    },
    getPid,
  };
}

const STARTERS = {
  process: startProcess,
  thread: startThread,
  'thread of another process': (options) => startProcess({ ...options, inThread: true }),
};

/** A lock client in a separate thread or process, which a test can block, stop and end. */
class Actor extends LockClient {
  #host;
  #goFile;
  #hasEnded = false;

  /**
   * @param {keyof STARTERS} hostKind
   * @param {object} bucket
   * @param {string} bucket.directory
   * @param {boolean} bucket.sweeps
   * @param {string} bucket.backend
   * @param {string[]} [bucket.inside]  the command that a process is started by: see namespaces.js
   * @param {Record<string, string>} [bucket.env]  what is added to the environment of a process
   */
  static start(hostKind, bucket) {
    const host = STARTERS[hostKind](bucket);
    const link = new HostLink(host.post, host.stop);
    host.messages.on('message', (message) => {
      if (message.threadEnded === undefined) link.receive(message);
    });
    host.ended.then((code) => link.fail(new Error(`the actor ended: ${code}`)));
    return new Actor(link, host, join(bucket.directory, unique('go')));
  }

  constructor(link, host, goFile) {
    super(link);
    this.#host = host;
    this.#goFile = goFile;
    host.ended.then(() => (this.#hasEnded = true));
  }

  get pid() {
    return this.#host.getPid();
  }

  /** When it has ended: the exit code or the name of the signal. */
  get ended() {
    return this.#host.ended;
  }

  /** Blocks its event loop until go(); resolves when it is blocked. */
  block() {
    rmSync(this.#goFile, { force: true });
    return this.command('block', { until: this.#goFile });
  }

  go() {
    writeFileSync(this.#goFile, '');
  }

  /** Blocks its event loop until a message ends it; resolves when it is blocked. */
  blockUntilItEnds(how) {
    return this.command('end', { how, until: this.#goFile });
  }

  /**
   * Ends it in one of the ways of process-endings.js.
   * @returns {bigint} when the message was sent, in nanoseconds of the monotonic clock
   */
  endBy(how, { isBlocked = false } = {}) {
    const order =
      this.#host.orders[how] ?? (isBlocked ? () => this.go() : () => this.#requestEnd(how));
    const time = process.hrtime.bigint();
    order();
    return time;
  }

  #requestEnd(how) {
    this.command('end', { how }).catch(() => {}); // it may be gone before it has answered
  }

  /**
   * Ends it, whatever it is doing; an actor that can still be asked leaves the bucket before. No
   * process watches a process that holds nothing and waits for nothing: when it is killed, only the
   * sweep removes its files.
   */
  async retire() {
    if (!this.#hasEnded) await this.close().catch(() => {}); // fails when it ends meanwhile
    await this.end();
  }

  /** Stops its process like ^Z; resolves when the kernel says so. */
  async freeze() {
    process.kill(this.pid, 'SIGSTOP');
    await this.untilStopped();
  }

  async untilStopped() {
    while (!/\) T /.test(readFileSync(`/proc/${this.pid}/stat`, 'utf8'))) {
      await new Promise(setImmediate);
    }
  }

  thaw() {
    process.kill(this.pid, 'SIGCONT');
  }
}

/** @param {number} pid */
const isRunning = (pid) =>
  existsSync(`/proc/${pid}/stat`) && !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));

module.exports = { Actor, isRunning };
