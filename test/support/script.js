'use strict';

const { spawn } = require('node:child_process');
const { once } = require('node:events');
const { basename, join } = require('node:path');
const { Worker } = require('node:worker_threads');

const SCHEMES = { 'shared-memory': 'shm', broker: 'broker' };
const LIBRARY = join(__dirname, '../../lib/index.js');

/** The whole program of a thread or process: opens a lock manager and runs `body` with it. */
function programOf(body, { backend, directory }) {
  const { HOLDFAST_TEST_ETCD, HOLDFAST_TEST_POSTGRES } = process.env;
  const folder = basename(directory);
  const optionsOf = {
    etcd: { bucket: 'scripts', url: `${HOLDFAST_TEST_ETCD}/${folder}` },
    postgres: { bucket: `scripts ${folder}`, url: HOLDFAST_TEST_POSTGRES },
  };
  const options = JSON.stringify(
    optionsOf[backend] ?? { bucket: 'scripts', url: `${SCHEMES[backend]}:`, directory },
  );
  const open = backend === 'local' ? 'createLocalLockManager()' : `openLockManager(${options})`;
  return `
    'use strict';
    const holdfast = require(${JSON.stringify(LIBRARY)});
    const print = (line) => process.stdout.write(line + '\\n');
    (${body})({ locks: holdfast.${open}, print, require });`;
}

function startProcess(program) {
  const child = spawn(process.execPath, ['-e', program]);
  return { stdout: child.stdout, stderr: child.stderr, ended: once(child, 'close') };
}

function startWorker(program) {
  const worker = new Worker(program, { eval: true, stdout: true, stderr: true });
  return { stdout: worker.stdout, stderr: worker.stderr, ended: once(worker, 'exit') };
}

const STARTERS = { process: startProcess, worker: startWorker };

/** A running script: what it printed so far, and how it ended. */
class Script {
  output = '';
  errors = '';
  #ended;
  #onOutput = () => {};

  constructor({ stdout, stderr, ended }) {
    this.#ended = ended;
    stdout.setEncoding('utf8').on('data', (text) => {
      this.output += text;
      this.#onOutput();
    });
    stderr.setEncoding('utf8').on('data', (text) => {
      this.errors += text;
    });
  }

  /** Resolves when the script has printed `line`. */
  printed(line) {
    return new Promise((resolve) => {
      this.#onOutput = () => {
        if (this.lines.includes(line)) resolve();
      };
      this.#onOutput();
    });
  }

  get lines() {
    return this.output.split('\n').slice(0, -1);
  }

  /** Resolves when the script has come to its end. */
  async end() {
    const [code] = await this.#ended;
    return { code, lines: this.lines, errors: this.errors };
  }
}

/**
 * Runs a self-contained function as the whole work of a thread or process; it gets
 * `{ locks, print, require }`. The script ends when its event loop is empty.
 * @param {'process' | 'worker'} hostKind
 * @param {{ backend: string, directory: string }} bucket
 * @param {Function} body
 */
function startScript(hostKind, bucket, body) {
  return new Script(STARTERS[hostKind](programOf(body, bucket)));
}

module.exports = { startScript };
