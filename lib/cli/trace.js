'use strict';

const { createWriteStream } = require('node:fs');
const { finished } = require('node:stream/promises');
const { createGzip } = require('node:zlib');
const { Option } = require('commander');
const { CommandError, EXIT_STATUS } = require('./exit-status.js');
const { LockTrace } = require('./lock-trace.js');
const { note, printLine, toJson } = require('./output.js');
const { openExistingPlace } = require('./table-options.js');
const { printable } = require('./printable.js');
const { toMilliseconds } = require('./seconds.js');

/** @typedef {import('./table-options.js').Place & { seconds?: number, name?: string }} Options */

/** @param {string} file  '-': standard output; '….gz': compressed */
function openOutput(file) {
  const target = file === '-' ? process.stdout : createWriteStream(file);
  if (!file.endsWith('.gz')) return { output: target, target };
  const output = createGzip();
  output.pipe(target);
  return { output, target };
}

/** Events have no labels: an inspection at this interval adds those of longer waits and holds. */
const LABELS_MS = 1_000;
const SIGNALS = /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP']);

/**
 * Aborts when the time is over, or the program is interrupted.
 * @param {number | undefined} ms
 */
function endSignal(ms) {
  const ending = new AbortController();
  const end = () => ending.abort();
  for (const signal of SIGNALS) process.on(signal, end);
  const timer = ms === undefined ? undefined : setTimeout(end, ms);
  const close = () => {
    clearTimeout(timer);
    for (const signal of SIGNALS) process.off(signal, end);
    end();
  };
  return { signal: ending.signal, close };
}

/**
 * @param {import('holdfast').LockManager} manager
 * @param {LockTrace} trace
 * @param {{ name?: string, signal: AbortSignal, write: (text: string) => void }} how
 */
async function record(manager, trace, { name, signal, write }) {
  const watch = manager.watch(name, { signal });
  write(trace.begin(await manager.inspect(), Date.now()));
  const timer = setInterval(() => {
    // A table that is gone ends the watch, too.
    manager.inspect().then(
      (inspection) => trace.describeOpen(inspection),
      () => {},
    );
  }, LABELS_MS);
  try {
    for await (const event of watch) write(trace.record(event));
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    clearInterval(timer);
  }
  write(trace.end(Date.now()));
}

/**
 * @param {string} file
 * @param {Options} options
 */
async function traceTo(file, { seconds, name, json, ...place }) {
  if (file === '-' && json) {
    throw new CommandError("trace: '-' writes the trace to standard output", EXIT_STATUS.usage);
  }
  const manager = openExistingPlace(place);
  const { output, target } = openOutput(file);
  const failure = finished(target, { readable: false }).catch((error) => {
    throw new CommandError(`trace: ${file}: ${error.message}`);
  });
  failure.catch(() => {}); // looked at below
  const lockTrace = new LockTrace(name);
  const ending = endSignal(seconds);
  if (seconds === undefined && process.stderr.isTTY) note('recording; Ctrl-C ends it');
  const write = (/** @type {string} */ text) => void output.write(text);
  try {
    await Promise.race([
      record(manager, lockTrace, { name, signal: ending.signal, write }),
      failure,
    ]);
  } finally {
    ending.close();
    manager.close();
  }
  if (file === '-') return;
  output.end();
  await failure;
  report(file, lockTrace, json);
}

/**
 * @param {string} file
 * @param {LockTrace} trace
 * @param {boolean | undefined} json
 */
function report(file, { events, missed }, json) {
  if (json) {
    printLine(toJson({ file, events, missed }));
    return;
  }
  note(`${events} events in ${printable(file)}: open it at https://ui.perfetto.dev`);
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
    .option('--json', 'say what was recorded as JSON')
    .action(traceTo);

module.exports = { add };
