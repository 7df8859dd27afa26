'use strict';

const { existsSync, readFileSync } = require('node:fs');
const path = require('node:path');
const { randomBytes, timingSafeEqual } = require('node:crypto');
const { once } = require('node:events');
const { createServer } = require('node:http');
const { Option } = require('commander');
const { isHere } = require('../backends/host.js');
const { CommandError } = require('./exit-status.js');
const { usageOf } = require('./internals.js');
const { LockMonitor } = require('./lock-monitor.js');
const { printLine, toJson } = require('./output.js');
const { openExistingManager, addressText } = require('./table-options.js');
const { integerFrom, toMilliseconds } = require('./seconds.js');

/** @typedef {import('./lock-monitor.js').View} View */
/** @typedef {import('./lock-monitor.js').NameView} NameView */
/** @typedef {import('../../types/locks.d.ts').InspectedLock} InspectedLock */
/** @typedef {import('../../types/backend.d.ts').LockTableUsage} Usage */

/** So much a page can show; the totals are of everything. */
const MAX_NAMES = 2_000;
const MAX_HOLDERS = 5;
const MAX_WAITERS = 5;
const MAX_GRAPH_NAMES = 24;
const MAX_REQUESTS = 1_000;
const MAX_DEADLOCKS = 10;
const MAX_MEMBERS = 100;

/** The name of its machine if that is another one. @param {{ host?: string }} process */
const otherHost = ({ host = '' }) => (isHere({ host }) ? '' : host);

/** @param {InspectedLock} lock */
const describe = (lock) => ({
  mode: lock.mode,
  pid: lock.pid,
  host: otherHost(lock),
  threadId: lock.threadId,
  clientId: lock.clientId,
  label: lock.label,
  callSite: lock.callSite,
  command: lock.command,
  processState: lock.processState,
  token: lock.token,
  limit: lock.limit,
  priority: lock.priority,
  overtakes: lock.overtakes,
  held: lock.held,
  waited: lock.waited,
});

/** @param {NameView} view */
const weight = ({ pending, held, rate }) => pending.length * 1_000 + rate + held.length;

/** @param {Pick<NameView, 'pending'>} view */
const oldestWait = ({ pending }) => pending.reduce((most, { waited }) => Math.max(most, waited), 0);

/** @param {View} view */
const stuckNames = ({ deadlocks }) =>
  new Set(deadlocks.flatMap(({ members }) => members.map(({ name }) => name)));

/**
 * Those in deadlocks first, then by queue length.
 * @param {NameView[]} names
 * @param {Set<string>} stuck
 */
const inOrder = (names, stuck) =>
  [...names].sort(
    (a, b) => Number(stuck.has(b.name)) - Number(stuck.has(a.name)) || weight(b) - weight(a),
  );

/** @param {NameView} view @param {Set<string>} stuck */
const toLock = ({ name, held, pending, rate }, stuck) => ({
  name,
  held: held.length,
  waiting: pending.length,
  rate,
  oldestWait: oldestWait({ pending }),
  oldestHold: held.reduce((most, lock) => Math.max(most, lock.held ?? 0), 0),
  isDeadlocked: stuck.has(name),
  holders: held.slice(0, MAX_HOLDERS).map(describe),
});

/**
 * The wait-for graph: locks that are waited for, those in deadlocks first, then by queue length.
 * @param {NameView[]} names
 * @param {Set<string>} stuck
 */
function toGraph(names, stuck) {
  const waitedFor = names.filter(({ pending }) => pending.length > 0);
  const chosen = waitedFor
    .sort(
      (a, b) =>
        Number(stuck.has(b.name)) - Number(stuck.has(a.name)) ||
        b.pending.length - a.pending.length,
    )
    .slice(0, MAX_GRAPH_NAMES);
  return {
    left: waitedFor.length - chosen.length,
    locks: chosen.map(({ name, held, pending }) => ({
      name,
      isDeadlocked: stuck.has(name),
      holders: held.slice(0, MAX_HOLDERS).map(describe),
      waiters: pending.slice(0, MAX_WAITERS).map(describe),
      moreHolders: Math.max(0, held.length - MAX_HOLDERS),
      moreWaiters: Math.max(0, pending.length - MAX_WAITERS),
    })),
  };
}

/** @param {View} view */
function toDeadlocks({ deadlocks, names }) {
  const heldBy = new Map(names.map(({ name, held }) => [name, held]));
  return deadlocks.slice(0, MAX_DEADLOCKS).map(({ members, behind }) => ({
    size: members.length,
    behind,
    members: members.slice(0, MAX_MEMBERS).map((member) => {
      const holders = heldBy.get(member.name) ?? [];
      return {
        name: member.name,
        ...describe(member),
        holders: holders.slice(0, MAX_HOLDERS).map(describe),
        moreHolders: Math.max(0, holders.length - MAX_HOLDERS),
      };
    }),
  }));
}

/**
 * The message to the page: a bounded part of a view, however large the view is.
 * @param {View} view
 * @param {{ address: string, usage: Usage | undefined }} about
 */
function toPicture(view, { address, usage }) {
  const stuck = stuckNames(view);
  const names = inOrder(view.names, stuck);
  return {
    address,
    time: view.time,
    totals: {
      ...view.totals,
      names: names.length,
      oldestWait: names.reduce((most, one) => Math.max(most, oldestWait(one)), 0),
    },
    counts: view.counts,
    rates: view.rates,
    missed: view.missed,
    isSampled: view.isSampled,
    usage,
    waits: view.waits,
    holds: view.holds,
    locks: names.slice(0, MAX_NAMES).map((one) => toLock(one, stuck)),
    graph: toGraph(names, stuck),
    deadlocks: toDeadlocks(view),
    moreDeadlocks: Math.max(0, view.deadlocks.length - MAX_DEADLOCKS),
    incidents: view.incidents.map((event) => ({
      type: event.type,
      name: event.name,
      pid: event.pid,
      host: otherHost(event),
      threadId: event.threadId,
      time: event.time,
    })),
  };
}

/**
 * @param {string} name
 * @param {import('../../types/locks.d.ts').LockManagerInspection} inspection
 */
function describeLock(name, { held, pending }) {
  const of = (/** @type {InspectedLock[]} */ locks) => locks.filter((lock) => lock.name === name);
  const [holders, waiters] = [of(held), of(pending)];
  return {
    name,
    totals: { held: holders.length, pending: waiters.length },
    held: holders.slice(0, MAX_REQUESTS).map(describe),
    pending: waiters.slice(0, MAX_REQUESTS).map(describe),
  };
}

/**
 * The locks with a text in their names, of all locks of a view.
 * @param {View} view
 * @param {string} text
 */
function findLocks(view, text) {
  const wanted = text.toLowerCase();
  const matches = view.names.filter(({ name }) => name.toLowerCase().includes(wanted));
  const stuck = stuckNames(view);
  const first = inOrder(matches, stuck).slice(0, MAX_NAMES);
  return { total: matches.length, locks: first.map((one) => toLock(one, stuck)) };
}

/** The files of the page, and nothing else: a path from outside is never looked up. */
const TYPES = /** @type {Record<string, string>} */ ({
  'index.html': 'text/html; charset=utf-8',
  'page.js': 'text/javascript; charset=utf-8',
  'page.css': 'text/css; charset=utf-8',
  'icon.svg': 'image/svg+xml',
});

/** Beside this program in the package; in dist/ when it runs from its sources. */
const FOLDERS = [path.join(__dirname, 'dashboard'), path.join(__dirname, '../../dist/dashboard')];

/** @type {Map<string, { type: string, content: Buffer }>} */
const files = new Map();

function folder() {
  const found = FOLDERS.find((one) => existsSync(path.join(one, 'index.html')));
  if (found !== undefined) return found;
  throw new CommandError('the page has not been built: run "npm run build"');
}

/**
 * @param {string} name
 * @returns {{ type: string, content: Buffer } | undefined}
 */
function pageFile(name) {
  if (!Object.hasOwn(TYPES, name)) return undefined;
  const known = files.get(name) ?? {
    type: TYPES[name],
    content: readFileSync(path.join(folder(), name)),
  };
  files.set(name, known);
  return known;
}

/** @typedef {import('node:http').ServerResponse} Response */

/** A page that is this far behind gets no picture; the next picture is complete again. */
const MAX_BEHIND_BYTES = 1_000_000;

/**
 * Pictures of the bucket for all pages that are open. While no page is open, nothing is watched, at
 * no cost.
 */
class LiveFeed {
  #manager;
  #address;
  #interval;
  /** @type {Set<Response>} */
  #pages = new Set();
  /** @type {LockMonitor | undefined} while there are pages */
  #monitor = undefined;
  /** @type {import('./lock-monitor.js').View | undefined} the newest */
  #view = undefined;
  /** @type {NodeJS.Timeout | undefined} */
  #timer = undefined;
  #number = 0;

  /**
   * @param {import('holdfast').LockManager} manager
   * @param {{ address: string, interval: number }} options
   */
  constructor(manager, { address, interval }) {
    this.#manager = manager;
    this.#address = address;
    this.#interval = interval;
  }

  /** @param {Response} page */
  add(page) {
    page.writeHead(200, { 'Content-Type': 'text/event-stream', 'X-Accel-Buffering': 'no' });
    page.write('retry: 1000\n\n');
    this.#pages.add(page);
    page.on('close', () => this.#remove(page));
    if (this.#monitor === undefined) void this.#run();
  }

  /**
   * One lock with all its requests, as JSON.
   * @param {string} name
   */
  async lock(name) {
    return toJson(describeLock(name, await this.#manager.inspect()));
  }

  /**
   * The locks of the newest view with a text in their names, as JSON.
   * @param {string} text
   */
  locks(text) {
    return toJson(this.#view ? findLocks(this.#view, text) : { total: 0, locks: [] });
  }

  close() {
    for (const page of this.#pages) page.end();
    this.#stop();
  }

  /** @param {Response} page */
  #remove(page) {
    this.#pages.delete(page);
    if (this.#pages.size === 0) this.#stop();
  }

  #stop() {
    clearTimeout(this.#timer);
    this.#monitor?.close();
    this.#monitor = undefined;
    this.#view = undefined;
  }

  async #run() {
    try {
      const monitor = (this.#monitor = new LockMonitor(this.#manager));
      await monitor.start();
      await this.#show(monitor);
    } catch (error) {
      this.#send('failure', toJson({ message: /** @type {Error} */ (error).message }));
      this.#stop();
      for (const page of this.#pages) page.end(); // they come back, to what is there then
      this.#pages.clear(); // before they have closed: a slow reader takes its time
    }
  }

  /** @param {LockMonitor} monitor */
  async #show(monitor) {
    while (this.#monitor === monitor) {
      const view = (this.#view = await monitor.view());
      this.#number += 1;
      const picture = toPicture(view, { address: this.#address, usage: usageOf(this.#manager) });
      this.#send('picture', toJson({ ...picture, interval: this.#interval, number: this.#number }));
      await new Promise((resolve) => {
        this.#timer = setTimeout(resolve, this.#interval);
      });
    }
  }

  /**
   * @param {string} event
   * @param {string} data  JSON, which has no line breaks
   */
  #send(event, data) {
    for (const page of this.#pages) {
      if (page.writableLength < MAX_BEHIND_BYTES) page.write(`event: ${event}\ndata: ${data}\n\n`);
    }
  }
}

/** @typedef {import('node:http').IncomingMessage} Request */

const LOOPBACK = '127.0.0.1';
const HTTP_PORT = 80;
const TOKEN_BYTES = 24;

/**
 * The page loads nothing from elsewhere, connects to no other server, and is in no frame. Nothing
 * of it is kept: the address is a key.
 */
const HEADERS = {
  'Cache-Control': 'no-store',
  'Content-Security-Policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; " +
    "img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
};

/** @param {Request} request @param {string} name */
const parameter = ({ url = '' }, name) =>
  new URL(url, `http://${LOOPBACK}`).searchParams.get(name) ?? '';

/** Serves the page and its live data to browsers of this machine that know the token. */
class DashboardServer {
  #token = randomBytes(TOKEN_BYTES).toString('base64url');
  #feed;
  #server;

  /**
   * @param {import('holdfast').LockManager} manager
   * @param {{ address: string, interval: number }} options  interval: ms between two pictures
   */
  constructor(manager, options) {
    this.#feed = new LiveFeed(manager, options);
    this.#server = createServer((request, response) => this.#answer(request, response));
  }

  /**
   * @param {number} port  0: any
   * @returns {Promise<string>} the address of the page
   */
  async listen(port) {
    this.#server.listen(port, LOOPBACK);
    await once(this.#server, 'listening');
    return `http://${LOOPBACK}:${this.#port}/${this.#token}/`;
  }

  async close() {
    this.#feed.close();
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }

  get #port() {
    return /** @type {import('node:net').AddressInfo} */ (this.#server.address()).port;
  }

  /**
   * @param {Request} request
   * @param {Response} response
   */
  #answer(request, response) {
    for (const [name, value] of Object.entries(HEADERS)) response.setHeader(name, value);
    if (!this.#isMeantForUs(request)) return this.#refuse(response, 403);
    const [, token = '', file] = (request.url ?? '').split('?')[0].match(/^\/([^/]*)\/(.*)$/) ?? [];
    if (!this.#isToken(token)) return this.#refuse(response, 403);
    if (request.method !== 'GET') return this.#refuse(response, 405);
    if (file === 'events') return this.#feed.add(response);
    if (file === 'locks') return this.#answerLocks(request, response);
    if (file === 'lock') return void this.#answerLock(request, response);
    const found = pageFile(file === '' ? 'index.html' : file);
    if (found === undefined) return this.#refuse(response, 404);
    response.setHeader('Content-Type', found.type);
    response.end(found.content);
  }

  /**
   * A page of another site must not reach this one by a name that it has led to this address.
   * @param {Request} request
   */
  #isMeantForUs({ headers }) {
    // RFC 9110, 7.2: the default port may be left out, and browsers do.
    const host = headers.host?.includes(':') ? headers.host : `${headers.host}:${HTTP_PORT}`;
    return [`${LOOPBACK}:${this.#port}`, `localhost:${this.#port}`].includes(host);
  }

  /** @param {string} token */
  #isToken(token) {
    const [given, own] = [Buffer.from(token), Buffer.from(this.#token)];
    return given.length === own.length && timingSafeEqual(given, own);
  }

  /**
   * All requests of one lock.
   * @param {Request} request
   * @param {Response} response
   */
  async #answerLock(request, response) {
    try {
      const lock = await this.#feed.lock(parameter(request, 'name'));
      response.setHeader('Content-Type', 'application/json');
      response.end(lock);
    } catch {
      this.#refuse(response, 503); // the table was removed or replaced: the feed says so
    }
  }

  /**
   * All locks with a text in their names.
   * @param {Request} request
   * @param {Response} response
   */
  #answerLocks(request, response) {
    response.setHeader('Content-Type', 'application/json');
    response.end(this.#feed.locks(parameter(request, 'text')));
  }

  /**
   * @param {Response} response
   * @param {number} status
   */
  #refuse(response, status) {
    response.statusCode = status;
    response.setHeader('Content-Type', 'text/plain');
    response.end(status === 403 ? 'The address of the dashboard has a token: use it whole.\n' : '');
  }
}

/** @typedef {import('./table-options.js').Address & { port: number, interval: number }} Options */

const MAX_PORT = 65_535;
const ENDINGS = ['SIGINT', 'SIGTERM', 'SIGHUP'];
const DEFAULT_INTERVAL_MS = 1_000;
const MIN_INTERVAL_MS = 100;

/** @param {Options} options */
async function dashboard(options) {
  const manager = openExistingManager(options);
  await manager.query(); // if the table cannot be opened, the error appears here, not in the page
  // Before the address is known: a signal would end the process, and leave files of the manager.
  const ended = Promise.race(ENDINGS.map((signal) => once(process, signal)));
  const address = addressText(options);
  const interval = Math.max(MIN_INTERVAL_MS, options.interval);
  const server = new DashboardServer(manager, { address, interval });
  let url;
  try {
    url = await server.listen(options.port);
  } catch (error) {
    const { code, message } = /** @type {NodeJS.ErrnoException} */ (error);
    const advice = code === 'EADDRINUSE' ? ': it is in use; leave --port out for a free one' : '';
    throw new CommandError(
      `dashboard: port ${options.port}: ${advice === '' ? message : code}${advice}`,
    );
  }
  if (options.json) printLine(toJson({ url, pid: process.pid }));
  else {
    printLine(`The dashboard is at\n\n  ${url}\n`);
    printLine('Every user with this address can see the locks: keep it secret.');
    printLine('Ctrl-C ends the dashboard.');
  }
  await ended;
  await server.close();
  manager.close();
}

/** @param {import('commander').Command} program */
const add = (program) =>
  program
    .command('dashboard')
    .description('serve a live page about the locks, to this machine only')
    .addOption(
      new Option('--port <port>', 'of the address')
        .argParser(integerFrom(0, MAX_PORT))
        .default(0, 'a free one'),
    )
    .addOption(
      new Option('--interval <seconds>', 'between two pictures')
        .argParser(toMilliseconds)
        .default(DEFAULT_INTERVAL_MS, '1'),
    )
    .option('--json', 'print the address as JSON')
    .action(dashboard);

module.exports = { DashboardServer, add };
