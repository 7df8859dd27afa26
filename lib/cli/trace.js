'use strict';

const { createWriteStream } = require('node:fs');
const { finished } = require('node:stream/promises');
const { createGzip } = require('node:zlib');
const { Option } = require('commander');
const { isHere, describeProcess } = require('../backends/host.js');
const { factsOf } = require('../locks/process-facts.js');
const { pidText } = require('./lock-rows.js');
const { printable } = require('./printable.js');
const { CommandError, EXIT_STATUS } = require('./exit-status.js');
const { note, printLine, toJson } = require('./output.js');
const { openExistingManager } = require('./table-options.js');
const { toMilliseconds } = require('./seconds.js');

/** @typedef {import('../../types/backend.d.ts').LockEvent} LockEvent */
/** @typedef {import('../../types/locks.d.ts').LockManagerInspection} Inspection */
/**
 * @typedef {object} Request  what an event and an inspection have in common
 * @property {string} name
 * @property {string} mode
 * @property {number} pid
 * @property {string} [host]
 * @property {number} threadId
 * @property {string} clientId
 * @property {number} requestId
 * @property {bigint | null} token
 * @property {import('../../types').TaskPriority} priority
 * @property {number} overtakes
 * @property {string} [label]  an event has none
 * @property {string} [callSite]
 */
/** @typedef {{ request: Request, time: number }} Open  a wait or a hold, and when it began */

/** Without a unit to display: some versions of Perfetto take it for the unit of the times. */
const START = '{"traceEvents":[\n';
const US_PER_MS = 1_000;
const REQUEST_ID_MASK = 0xffff;
/** The group of tracks by lock, beside those by process; no process has such an id. */
const LOCKS_GROUP = 2 ** 30;
/** Groups of processes whose ids are not known here, or are of another machine. */
const FIRST_UNKNOWN = 2 ** 30 + 1;

/** @param {string} name  may be empty, which no track may be */
const titleOf = (name) => (name === '' ? "''" : printable(name));

/** Of its process. @param {Request} request */
function nameOf(request) {
  if (request.pid === 0) return `agent ${request.clientId}`;
  return isHere(request) ? factsOf(request).command : describeProcess(request);
}

/** Perfetto shows the arguments of the begin and of the end. @param {Request} request */
const labelsOf = ({ label, callSite }) => ({
  label: label ? printable(label) : undefined,
  callSite: callSite ? printable(callSite) : undefined,
});

/** @param {{ clientId: string, requestId: number }} request */
const keyOf = ({ clientId, requestId }) => `${clientId} ${requestId & REQUEST_ID_MASK}`;

/**
 * Lock events as a trace in the Trace Event Format, which Perfetto and Chrome open. The trace shows
 * each process with its waits and holds, and each lock with its holders, over time. The queue
 * length is a counter; deaths and steals are marks.
 */
class LockTrace {
  events = 0;
  missed = 0;
  #only;
  #isFirst = true;
  /** @type {Map<string, number>} the groups of such agents and processes */
  #unknown = new Map();
  /** @type {Set<string>} */
  #described = new Set();
  /** @type {Map<string, Open>} those that wait */
  #waiting = new Map();
  /** @type {Map<bigint, Open>} those that hold */
  #holding = new Map();
  /** @type {Map<string, { held: number, waiting: number }>} */
  #counts = new Map();

  /** @param {string} [only]  the one lock that is traced */
  constructor(only = undefined) {
    this.#only = only;
  }

  /**
   * Adds the locks and requests that there are at first.
   * @param {Inspection} inspection
   * @param {number} time  ms since 1970
   */
  begin({ held, pending }, time) {
    const isTraced = (/** @type {Request} */ { name }) =>
      this.#only === undefined || name === this.#only;
    const holds = held.filter(isTraced).map((lock) => this.#beginHold(lock, time));
    const waits = pending.filter(isTraced).map((request) => this.#beginWait(request, time));
    return [START, ...holds, ...waits].join('');
  }

  /**
   * Labels and call sites, which events do not have.
   * @param {Inspection} inspection
   */
  describeOpen({ held, pending }) {
    for (const lock of held) {
      const open = lock.token === null ? undefined : this.#holding.get(lock.token);
      if (open !== undefined) open.request = lock;
    }
    for (const request of pending) {
      const open = this.#waiting.get(keyOf(request));
      if (open !== undefined) open.request = request;
    }
  }

  /** @param {LockEvent} event */
  record(event) {
    this.events += 1;
    this.missed += event.lost;
    const { time } = event;
    if (event.type === 'queued') return this.#beginWait(event, time);
    if (event.type === 'granted') return this.#endWait(event, time) + this.#beginHold(event, time);
    const mark = event.type === 'released' ? '' : this.#mark(event, time);
    return mark + this.#endWait(event, time) + this.#endHold(event, time);
  }

  /** @param {number} time  ms since 1970 */
  end(time) {
    const waits = [...this.#waiting.values()].map(({ request }) => this.#endWait(request, time));
    const holds = [...this.#holding.values()].map(({ request }) => this.#endHold(request, time));
    return `${waits.join('')}${holds.join('')}\n]}\n`;
  }

  /** @param {Request} request @param {number} time */
  #beginWait(request, time) {
    if (this.#waiting.has(keyOf(request))) return '';
    this.#waiting.set(keyOf(request), { request, time });
    return (
      this.#describe(request) +
      this.#slice('b', request, { time, verb: 'wait' }) +
      this.#count(request.name, 'waiting', { by: 1, time })
    );
  }

  /** @param {Request} request @param {number} time */
  #endWait(request, time) {
    const open = this.#waiting.get(keyOf(request));
    if (open === undefined) return '';
    this.#waiting.delete(keyOf(request));
    const end = Math.max(time, open.time);
    return (
      this.#slice('e', open.request, { time: end, verb: 'wait', overtakes: request.overtakes }) +
      this.#count(request.name, 'waiting', { by: -1, time: end })
    );
  }

  /** @param {Request} lock @param {number} time */
  #beginHold(lock, time) {
    if (lock.token === null || this.#holding.has(lock.token)) return '';
    this.#holding.set(lock.token, { request: lock, time });
    return (
      this.#describe(lock) +
      this.#slice('b', lock, { time, verb: 'hold' }) +
      this.#lockSlice('b', lock, time) +
      this.#count(lock.name, 'held', { by: 1, time })
    );
  }

  /** @param {Request} lock @param {number} time */
  #endHold(lock, time) {
    const open = lock.token === null ? undefined : this.#holding.get(lock.token);
    if (lock.token === null || open === undefined) return '';
    this.#holding.delete(lock.token);
    // The event may be older than the inspection that the trace began with, or of another clock.
    const end = Math.max(time, open.time);
    return (
      this.#slice('e', open.request, { time: end, verb: 'hold' }) +
      this.#lockSlice('e', open.request, end) +
      this.#count(lock.name, 'held', { by: -1, time: end })
    );
  }

  /**
   * On the track of the thread.
   * @param {'b' | 'e'} ph
   * @param {Request} request
   * @param {{ time: number, verb: string, overtakes?: number }} what
   */
  #slice(ph, request, { time, verb, overtakes }) {
    const { mode, priority, token } = request;
    const shown = verb === 'wait' || token === null ? undefined : String(token);
    return this.#write({
      ph,
      cat: verb,
      name: `${verb} ${titleOf(request.name)}`,
      id2: { local: verb === 'hold' ? `t${token}` : `w${keyOf(request)}` },
      pid: this.#groupOf(request),
      tid: this.#trackOf(request),
      ts: time * US_PER_MS,
      args: {
        ...(ph === 'b' && { mode, priority, token: shown }),
        ...(ph === 'e' && verb === 'wait' && { overtakes }),
        ...labelsOf(request),
      },
    });
  }

  /** On the track of the lock. @param {'b' | 'e'} ph @param {Request} lock @param {number} time */
  #lockSlice(ph, lock, time) {
    const who = lock.pid === 0 ? lock.clientId : `pid ${pidText(lock)}`;
    return this.#write({
      ph,
      cat: 'lock',
      name: titleOf(lock.name),
      id2: { local: `l${lock.token}` },
      pid: LOCKS_GROUP,
      tid: LOCKS_GROUP,
      ts: time * US_PER_MS,
      args: {
        ...(ph === 'b' && { holder: who, thread: lock.threadId, mode: lock.mode }),
        ...labelsOf(lock),
      },
    });
  }

  /**
   * @param {string} name
   * @param {'held' | 'waiting'} kind
   * @param {{ by: number, time: number }} change
   */
  #count(name, kind, { by, time }) {
    const counts = this.#counts.get(name) ?? { held: 0, waiting: 0 };
    counts[kind] = Math.max(0, counts[kind] + by);
    this.#counts.set(name, counts);
    const ts = time * US_PER_MS;
    return this.#write({
      ph: 'C',
      name: titleOf(name),
      pid: LOCKS_GROUP,
      tid: LOCKS_GROUP,
      ts,
      args: counts,
    });
  }

  /** @param {LockEvent} event @param {number} time */
  #mark(event, time) {
    return this.#write({
      ph: 'i',
      s: 'p',
      name: `${event.type} ${titleOf(event.name)}`,
      pid: this.#groupOf(event),
      tid: this.#trackOf(event),
      ts: time * US_PER_MS,
    });
  }

  /** The names of its process and thread, once. @param {Request} request */
  #describe(request) {
    const pid = this.#groupOf(request);
    const names = [];
    if (!this.#described.has('locks')) names.push({ pid: LOCKS_GROUP, what: 'locks' });
    if (!this.#described.has(String(pid))) {
      names.push({ pid, what: nameOf(request) });
    }
    this.#described.add('locks').add(String(pid));
    return names
      .map((one) =>
        this.#write({
          ph: 'M',
          name: 'process_name',
          pid: one.pid,
          tid: one.pid,
          args: { name: printable(one.what) },
        }),
      )
      .join('');
  }

  /**
   * The main thread has the number of its process, as Linux has it: 0 is no thread for Perfetto.
   * @param {Request} request
   */
  #trackOf(request) {
    return request.threadId === 0 ? this.#groupOf(request) : request.threadId;
  }

  /** @param {Request} request */
  #groupOf({ pid, host, clientId }) {
    if (pid !== 0 && isHere({ host })) return pid;
    const key = pid === 0 ? clientId : `${pid} ${host}`;
    const known = this.#unknown.get(key) ?? FIRST_UNKNOWN + this.#unknown.size;
    this.#unknown.set(key, known);
    return known;
  }

  /** @param {object} event */
  #write(event) {
    const separator = this.#isFirst ? '' : ',\n';
    this.#isFirst = false;
    return separator + JSON.stringify(event);
  }
}

/** @typedef {import('./table-options.js').Address & { seconds?: number, name?: string }} Options */

/** @param {string} file  '-': standard output; '….gz': compressed */
function openOutput(file) {
  const target = file === '-' ? process.stdout : createWriteStream(file);
  if (!file.endsWith('.gz')) return { output: target, target };
  const output = createGzip();
  output.pipe(target);
  return { output, target };
}

/**
 * Events have no labels: an inspection at this interval adds the labels of long waits and holds.
 */
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
async function traceTo(file, { seconds, name, json, ...address }) {
  if (file === '-' && json) {
    throw new CommandError("trace: '-' writes the trace to standard output", EXIT_STATUS.usage);
  }
  const manager = openExistingManager(address);
  const { output, target } = openOutput(file);
  const failure = finished(target, { readable: false }).catch((error) => {
    throw new CommandError(`trace: ${file}: ${error.message}`, EXIT_STATUS.output);
  });
  failure.catch(() => {}); // read below
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
    .argument('<file>', "file to write; '….gz' is compressed, '-' is standard output")
    .option('--seconds <seconds>', 'for how long (default: until Ctrl-C)', toMilliseconds)
    .addOption(new Option('--name <name>', 'only the lock of this name'))
    .option('--json', 'say what was recorded as JSON')
    .action(traceTo);

module.exports = { LockTrace, add };
