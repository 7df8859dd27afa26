'use strict';

const { createWriteStream } = require('node:fs');
const { finished } = require('node:stream/promises');
const { createGzip } = require('node:zlib');
const { Option } = require('commander');
const { CommandError } = require('./exit-status.js');
const { LockTrace } = require('./lock-trace.js');
const { note } = require('./output.js');
const { openPlace } = require('./place.js');
const { toMilliseconds } = require('./seconds.js');

/** @typedef {import('./place.js').Place & { seconds?: number, name?: string }} Options */

/** @param {string} file  '-': standard output; '….gz': compressed */
function openOutput(file) {
  const target = file === '-' ? process.stdout : createWriteStream(file);
  if (!file.endsWith('.gz')) return { output: target, target };
  const output = createGzip();
  output.pipe(target);
  return { output, target };
}

/**
 * Aborts when the time is over, or the program is interrupted.
 * @param {number | undefined} ms
 */
function endSignal(ms) {
  const ending = new AbortController();
  const end = () => ending.abort();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, end);
  if (ms !== undefined) setTimeout(end, ms);
  return ending.signal;
}

/**
 * @param {import('holdfast').LockManager} manager
 * @param {LockTrace} trace
 * @param {{ name?: string, signal: AbortSignal, write: (text: string) => void }} how
 */
async function record(manager, trace, { name, signal, write }) {
  const watch = manager.watch(name, { signal });
  write(trace.begin(await manager.inspect(), Date.now()));
  try {
    for await (const event of watch) write(trace.record(event));
  } catch (error) {
    if (!signal.aborted) throw error;
  }
  write(trace.end(Date.now()));
}

/**
 * @param {string} file
 * @param {Options} options
 */
async function traceTo(file, { seconds, name, ...place }) {
  const manager = openPlace(place);
  const { output, target } = openOutput(file);
  const failure = finished(target, { readable: false }).catch((error) => {
    throw new CommandError(`trace: ${file}: ${error.message}`);
  });
  failure.catch(() => {}); // looked at below
  const lockTrace = new LockTrace(name);
  const signal = endSignal(seconds);
  if (seconds === undefined && process.stderr.isTTY) note('recording; Ctrl-C ends it');
  const write = (/** @type {string} */ text) => void output.write(text);
  await Promise.race([record(manager, lockTrace, { name, signal, write }), failure]);
  manager.close();
  if (file === '-') return;
  output.end();
  await failure;
  const { events, missed } = lockTrace;
  note(`${events} events in ${file}: open it at https://ui.perfetto.dev`);
  if (missed > 0) note(`${missed} events were missed: there were too many at a time`);
}

/** @param {import('commander').Command} program */
const add = (program) =>
  program
    .command('trace')
    .description('record the locks of all processes as a trace that Perfetto opens')
    .argument('<file>', "where to; '….gz' is compressed, '-' is standard output")
    .option('--seconds <seconds>', 'for how long (default: until Ctrl-C)', toMilliseconds)
    .addOption(new Option('--name <name>', 'only the lock of this name'))
    .action(traceTo);

module.exports = { add };
