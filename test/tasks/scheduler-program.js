'use strict';

const { spawn } = require('node:child_process');
const { once } = require('node:events');
const { join } = require('node:path');
const { Worker } = require('node:worker_threads');

const LIBRARY = join(__dirname, '../../lib/index.js');

const programOf = (body) => `
  'use strict';
  (${body})({ ...require(${JSON.stringify(LIBRARY)}), print: console.log, require });`;

const collect = (stream) => {
  let text = '';
  stream.setEncoding('utf8').on('data', (chunk) => (text += chunk));
  return () => text;
};

async function endOf({ stdout, stderr }, ended) {
  const [printed, errors] = [collect(stdout), collect(stderr)];
  const [code, signal] = await ended;
  return { code: code ?? signal, lines: printed().split('\n').slice(0, -1), errors: errors() };
}

/** Runs a self-contained function as the whole work of a process; gives how it ended. */
function runProcess(body, flags = []) {
  const child = spawn(process.execPath, [...flags, '-e', programOf(body)]);
  return endOf(child, once(child, 'close'));
}

/** Starts a self-contained function as the whole work of a worker thread. */
function startWorker(body, execArgv = undefined) {
  return new Worker(programOf(body), { eval: true, stdout: true, stderr: true, execArgv });
}

/** The same as runProcess() in a worker; what ends the worker with an error is in `errors`. */
function runWorker(body, flags = undefined) {
  const worker = startWorker(body, flags);
  const ended = new Promise((resolve) => worker.once('exit', (code) => resolve([code])));
  const errors = [];
  worker.on('error', (error) => errors.push(error.message));
  return endOf(worker, ended).then((end) => ({ ...end, errors: end.errors + errors.join() }));
}

const RUNNERS = {
  process: runProcess,
  worker: runWorker,
  // There the function with which ticks are run between two tasks is another one, and not used.
  'process whose Node runs the ticks': (body) => runProcess(body, ['--pending-deprecation']),
};

module.exports = { RUNNERS, runProcess, startWorker };
