'use strict';

const { spawn, spawnSync } = require('node:child_process');
const { existsSync } = require('node:fs');
const { Worker, isMainThread, parentPort, workerData } = require('node:worker_threads');
const { openLockManager } = require('../../lib/index.js');
const { LockAgent, describeReason } = require('./lock-agent.js');
const { ActorWork } = require('./process-actor-work.js');
const { ALL_PROCESS_BACKENDS } = require('./process-backends.js');

const EXIT_CODE = 7;
/** A file that never exists. */
const NEVER = '/nonexistent';

/** The ways in which a thread or process ends itself. */
const OWN_ENDINGS = {
  'process.exit()': () => process.exit(EXIT_CODE),
  'an uncaught error': () =>
    process.nextTick(() => {
      throw new Error('on purpose');
    }),
  'its natural end': () => {
    process.removeAllListeners('disconnect');
    if (isMainThread) process.disconnect();
    else parentPort.close();
  },
};

const PARENT = process.ppid;

const CELL = new Int32Array(new SharedArrayBuffer(4));
const POLL_MS = 1;

/**
 * Keeps the event loop from running until a file exists (or the test is gone). It sleeps between
 * two checks: the other processes have the processors meanwhile.
 */
function block(file) {
  while (!existsSync(file) && process.ppid === PARENT) Atomics.wait(CELL, 0, 0, POLL_MS);
}

/** A lock client of a test about the ends of threads and processes; it can block and end itself. */
class ActorAgent extends LockAgent {
  #options;
  #work;

  constructor(options, report) {
    const { directory, sweeps, backend } = options;
    const { open } = ALL_PROCESS_BACKENDS[backend];
    const manager = openLockManager({ backend: open({ directory, sweeps }) });
    super(manager, report);
    this.#options = options;
    this.#work = new ActorWork(manager, directory);
  }

  /** Blocks the event loop until the file `until` exists. */
  block({ until }) {
    block(until);
  }

  /** Blocks the event loop until the file `until` exists, if given, and then ends. */
  end({ how, until }) {
    if (until !== undefined) block(until);
    OWN_ENDINGS[how]?.();
  }

  /** Steals a lock and blocks the event loop in the same task, for good. */
  stealAndBlock({ key, name }) {
    this.request({ key, name, options: { steal: true } });
    block(NEVER);
  }

  /** Holds a lock in a further thread of this process, for good. */
  holdInThread({ name }) {
    const worker = new Worker(__filename, { workerData: this.#options });
    worker.postMessage({ command: 'request', args: { key: name, name } });
    return new Promise((resolve) => {
      worker.on('message', ({ event }) => event?.granted && resolve());
    });
  }

  /** Starts a process that outlives this one; gives its process id, which is its group's, too. */
  startChild(options) {
    return spawn('sleep', ['600'], { detached: true, ...options }).pid;
  }

  /** Does nothing any more but start one process after the other. */
  startChildren() {
    while (process.ppid === PARENT) spawnSync('true');
  }

  /** Starts to use locks without a pause, until stopWork(). */
  startWork(options) {
    this.#work.start(options);
  }

  stepsOfWork() {
    return this.#work.steps;
  }

  stopWork() {
    return this.#work.stop();
  }
}

/** Commands during which nothing can be answered any more: they are answered before. */
const ANSWERED_FIRST = ['block', 'end', 'startChildren'];

function serve(send, options) {
  let client;
  const agent = new ActorAgent(options, (event) => {
    if (event.granted) event.granted.at = process.hrtime.bigint();
    send({ client, event });
  });
  return async (message) => {
    client = message.client;
    const { id, command, args } = message;
    if (ANSWERED_FIRST.includes(command)) return send({ id }, () => agent[command](args));
    try {
      send({ id, value: await agent[command](args) });
    } catch (error) {
      send({ id, error: describeReason(error) });
    }
  };
}

function serveInThread(options) {
  const send = (message, done) => {
    parentPort.postMessage(message);
    done?.();
  };
  parentPort.on('message', serve(send, options));
}

function serveInProcess(options) {
  const send = (message, done) => process.connected && process.send(message, done);
  process.on('message', serve(send, options));
}

/** The client lives in a worker thread; this thread only passes its messages on. */
function relayToThread(options) {
  const worker = new Worker(__filename, { workerData: options, stderr: true });
  const orders = { exit: () => process.exit(EXIT_CODE), terminate: () => worker.terminate() };
  process.on('message', (message) =>
    message.order === undefined ? worker.postMessage(message) : orders[message.order](),
  );
  worker.on('message', (message) => process.send(message));
  worker.on('error', () => {}); // the thread ends, not the process
  worker.on('exit', (code) => process.send({ threadEnded: code }));
}

if (!isMainThread) {
  serveInThread(workerData);
} else {
  const options = JSON.parse(process.argv[2]);
  if (options.inThread) relayToThread(options);
  else serveInProcess(options);
  process.on('disconnect', () => process.exit());
}
