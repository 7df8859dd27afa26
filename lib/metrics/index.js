'use strict';

const { channel } = require('node:diagnostics_channel');
const { WaitGraph } = require('../locks/deadlock/wait-graph.js');
const {
  CountEstimate,
  DEFAULT_BOUNDS,
  factorOf,
  Histogram,
  LockStatistics,
  noCounts,
  groupByName,
} = require('./lock-statistics.js');
const { EventSampler } = require('./event-sampler.js');
const { clearInterval, clearTimeout, performance, setInterval, setTimeout } = require('../time.js');
const { METRICS, samplesOf, toPrometheusText } = require('./prometheus.js');
const { keepName } = require('../copies.js');
const { isWaitTimeout } = require('../errors.js');
const { locks, toLockManager } = require('../locks/lock-manager.js');
const { OF_METRICS, warnOfMisspeltOptions } = require('../option-names.js');
const { toDictionarySource } = require('../webidl.js');

/** @typedef {import('../../types/metrics.d.ts').LockMetricsData} Data */
/** @typedef {import('../../types/locks.d.ts').InspectedLock} InspectedLock */
/** @typedef {import('../../types/locks.d.ts').LockManager} LockManager */
/** @typedef {import('../../types/locks.d.ts').LockManagerInspection} Inspection */

const BACKEND = Symbol.for('holdfast.backend');
const MS_PER_SECOND = 1_000;
const WINDOW_MS = 1_000;
/** Of a bucket that is too busy to see each request, one window of so many: this thread pays. */
const WINDOWS_OF_A_SAMPLE = 10;
/** While an inspection waits for an answer of a server. */
const CHECK_AGAIN_MS = 250;
/** The first session takes some round trips. */
const CHECKS_FOR_THE_FIRST = 4;
const NOT_RUNNING = new Set(['stopped', 'traced', 'frozen', 'zombie']);

/** @param {number} ms */
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** @param {number[]} values  ms */
const oldestSeconds = (values) =>
  values.reduce((oldest, ms) => Math.max(oldest, ms), 0) / MS_PER_SECOND;

/** @param {Iterable<{ priority: import('../../types').TaskPriority }>} requests */
function waitingByPriority(requests) {
  const counts = { 'user-blocking': 0, 'user-visible': 0, background: 0 };
  for (const { priority } of requests) counts[priority] += 1;
  return { waitingUrgent: counts['user-blocking'], waitingBackground: counts.background };
}

/**
 * The present state of some requests.
 * @param {Inspection} inspection
 * @param {Set<object>} deadlocked
 */
function present({ held, pending }, deadlocked) {
  return {
    held: held.length,
    waiting: pending.length,
    ...waitingByPriority(pending),
    oldestHoldSeconds: oldestSeconds(held.map((lock) => lock.held ?? 0)),
    oldestWaitSeconds: oldestSeconds(pending.map((request) => request.waited)),
    stoppedHolders: held.filter(({ processState }) => NOT_RUNNING.has(processState)).length,
    deadlockedRequests: pending.filter((request) => deadlocked.has(request)).length,
  };
}

/** @param {Inspection} inspection */
function findDeadlocked(inspection) {
  return new Set(WaitGraph.of(inspection).deadlocks.flatMap(({ members }) => members));
}

/** @type {Inspection} */
const NOTHING = { held: [], pending: [] };
/** The values without a session with the server: the holders are unknown. */
const UNKNOWN = {
  held: NaN,
  waiting: NaN,
  waitingUrgent: NaN,
  waitingBackground: NaN,
  oldestHoldSeconds: NaN,
  oldestWaitSeconds: NaN,
  stoppedHolders: undefined,
  deadlockedRequests: undefined,
};

/** The observed events, and an estimate of all events from them. */
class Past {
  statistics;
  #estimate = new CountEstimate();

  /** @param {readonly number[] | undefined} bounds */
  constructor(bounds) {
    this.statistics = new LockStatistics(bounds);
  }

  deltas() {
    return this.#estimate.deltas(this.statistics.counts);
  }

  /**
   * @param {import('./lock-statistics.js').Counts} deltas
   * @param {number} factor
   * @param {{ grants: number | undefined, isSample: boolean }} taken
   */
  add(deltas, factor, taken) {
    this.#estimate.add(deltas, factor, taken);
  }

  toData() {
    return {
      ...this.#estimate.totals,
      waitSeconds: this.statistics.waits.toData(),
      holdSeconds: this.statistics.holds.toData(),
    };
  }
}

/** @typedef {(seconds: number, kind: 'wait' | 'hold', name: string) => void} TimeListener */

/**
 * Several meters may be registered.
 * @param {TimeListener | undefined} first
 * @param {TimeListener} second
 * @returns {TimeListener}
 */
const inTurn = (first, second) =>
  first === undefined
    ? second
    : (...time) => {
        first(...time);
        second(...time);
      };

/** All threads of all processes of a bucket, seen by a watch of its events. */
class BucketSource {
  #manager;
  #bounds;
  #sampler;
  #all;
  /** @type {Map<string, Past> | undefined} */
  #byName;
  #seeded;
  #timer;
  #pausedFor = 0;

  /**
   * @param {LockManager} manager
   * @param {{ names: boolean, bounds: readonly number[] | undefined }} options
   */
  constructor(manager, { names, bounds }) {
    this.#manager = manager;
    this.#bounds = bounds;
    this.#all = new Past(bounds);
    this.#byName = names ? new Map() : undefined;
    this.#sampler = this.#openSampler();
    this.#seeded = this.#start();
    this.#seeded.catch(() => {}); // collect() rejects with it
    this.#timer = setInterval(() => this.#endWindow(), WINDOW_MS).unref();
  }

  /** @returns {Promise<Data>} */
  async collect() {
    const backend = this.#backend();
    const { inspection, session } = await this.#inspectWithSession(backend);
    this.#count();
    const deadlocked = findDeadlocked(inspection ?? NOTHING);
    return {
      scope: 'bucket',
      bucket: backend.bucket ?? '',
      ...(inspection === undefined ? UNKNOWN : present(inspection, deadlocked)),
      ...this.#all.toData(),
      missedEvents: this.#all.statistics.lost,
      table: backend.usage?.(),
      session,
      names: this.#byName && this.#dataByName(this.#byName, inspection ?? NOTHING, deadlocked),
    };
  }

  /**
   * An inspection waits for a session, however long there is none: the figures do not.
   * @param {import('../../types/backend.d.ts').LockBackend} backend
   * @returns {Promise<{ inspection?: Inspection, session?: Data['session'] }>} without an
   *   inspection there is no session with the server
   */
  async #inspectWithSession(backend) {
    if (backend.status === undefined) return { inspection: await this.#inspect() };
    /** @type {Inspection | undefined} */
    let inspection;
    const inspecting = this.#inspect().then((found) => (inspection = found));
    inspecting.catch(() => {}); // where it is not waited for
    for (let checks = 0; ; checks += 1) {
      const session = await backend.status();
      if (inspection !== undefined && session.connected) return { inspection, session };
      const isFirst = session.sessions === 0 && checks < CHECKS_FOR_THE_FIRST;
      if (!session.connected && !isFirst) return { session };
      await Promise.race([inspecting, sleep(CHECK_AGAIN_MS)]);
    }
  }

  /** @returns {Promise<Inspection>} */
  async #inspect() {
    await this.#seeded;
    if (this.#sampler.failure !== undefined) throw this.#sampler.failure;
    return this.#manager.inspect();
  }

  /**
   * @param {(seconds: number, kind: 'wait' | 'hold', name: string) => void} listener  for
   *   instruments that take single values
   */
  onTime(listener) {
    const { statistics } = this.#all;
    statistics.onTime = inTurn(statistics.onTime, listener);
  }

  close() {
    clearInterval(this.#timer);
    this.#sampler.close();
  }

  /** @returns {import('../../types/backend.d.ts').LockBackend} */
  #backend() {
    return /** @type {any} */ (this.#manager)[BACKEND]();
  }

  /** The backend's own watch: it does not keep the process alive. */
  #openSampler() {
    return new EventSampler(this.#backend(), {
      seed: (inspection, isBegin) => this.#seed(inspection, isBegin),
      follow: (event) => this.#each(event, (statistics) => statistics.follow(event)),
      record: (event) => this.#each(event, (statistics) => statistics.record(event)),
    });
  }

  /** Continues the counts over the manager's next table; rejects while there is none. */
  async #replaceFailed() {
    const sampler = this.#openSampler();
    this.#sampler.close();
    this.#sampler = sampler;
    this.#seeded = this.#start();
    await this.#seeded;
  }

  /** Resolves when the initial state is known; continues with the events. */
  async #start() {
    const sampler = this.#sampler;
    try {
      sampler.start(await this.#manager.inspect());
    } catch (error) {
      sampler.failure ??= error;
      throw error;
    }
  }

  async #endWindow() {
    if (this.#sampler.failure !== undefined) {
      // Until it succeeds, collect() rejects with the failure.
      return this.#replaceFailed().catch(() => {});
    }
    if (!this.#sampler.isPaused) return this.#sampler.renew();
    this.#pausedFor = (this.#pausedFor + 1) % WINDOWS_OF_A_SAMPLE;
    if (this.#pausedFor !== 0) return;
    try {
      this.#count();
      await this.#sampler.next(() => this.#manager.inspect());
    } catch (error) {
      this.#sampler.failure ??= error;
    }
  }

  /** Adds the events observed since the last call to the counts. */
  #count() {
    const taken = this.#sampler.take();
    const deltas = this.#all.deltas();
    const factor = factorOf(deltas.grants, taken);
    this.#all.add(deltas, factor, taken);
    const { isSample } = taken;
    for (const past of this.#byName?.values() ?? []) {
      past.add(past.deltas(), factor, { grants: undefined, isSample });
    }
  }

  /**
   * @param {import('../../types/backend.d.ts').LockInspection} inspection
   * @param {boolean} isBegin
   */
  #seed(inspection, isBegin) {
    this.#all.statistics.seed(inspection, isBegin);
    if (this.#byName === undefined) return;
    const [held, pending] = [groupByName(inspection.held), groupByName(inspection.pending)];
    for (const name of new Set([...this.#byName.keys(), ...held.keys(), ...pending.keys()])) {
      const parts = { held: held.get(name) ?? [], pending: pending.get(name) ?? [] };
      this.#pastOf(this.#byName, name).statistics.seed(parts, isBegin);
    }
  }

  /**
   * @param {import('../../types/backend.d.ts').LockEvent} event
   * @param {(statistics: LockStatistics) => void} use
   */
  #each(event, use) {
    use(this.#all.statistics);
    if (this.#byName !== undefined) use(this.#pastOf(this.#byName, event.name).statistics);
  }

  /**
   * @param {Map<string, Past>} byName
   * @param {string} name
   */
  #pastOf(byName, name) {
    const known = byName.get(name) ?? new Past(this.#bounds);
    byName.set(name, known);
    return known;
  }

  /**
   * @param {Map<string, Past>} byName
   * @param {Inspection} inspection
   * @param {Set<object>} deadlocked
   */
  #dataByName(byName, { held, pending }, deadlocked) {
    for (const { name } of [...held, ...pending]) this.#pastOf(byName, name);
    const [heldOf, pendingOf] = [groupByName(held), groupByName(pending)];
    const entries = [...byName].map(([name, past]) => {
      const parts = { held: heldOf.get(name) ?? [], pending: pendingOf.get(name) ?? [] };
      return [name, { ...present(parts, deadlocked), ...past.toData() }];
    });
    return Object.fromEntries(entries);
  }
}

/** @typedef {import('../../types/diagnostics.d.ts').LockRequestMessage} Message */

/** The sums of the messages of some requests. */
class RequestStatistics {
  counts = { ...noCounts(), misses: 0 };
  /** @type {Map<Message, number>} since when, by the monotonic clock: a host's clock is set back */
  waiting = new Map();
  /** @type {Map<Message, number>} */
  holding = new Map();
  /** @type {WeakSet<Message>} */
  lost = new WeakSet();
  waits;
  holds;

  /** @param {readonly number[] | undefined} bounds */
  constructor(bounds) {
    this.waits = new Histogram(bounds);
    this.holds = new Histogram(bounds);
  }

  /** @returns {Omit<Data, 'scope' | 'bucket'>} */
  toData() {
    // A thread that has died counts nothing.
    const counts = { ...this.counts, deaths: undefined, overtakes: undefined };
    const now = performance.now();
    // The first that came is the oldest.
    const oldest = (/** @type {Map<Message, number>} */ requests) => {
      const [since = now] = requests.values();
      return (now - since) / MS_PER_SECOND;
    };
    return {
      held: this.holding.size,
      waiting: this.waiting.size,
      ...waitingByPriority(this.waiting.keys()),
      oldestHoldSeconds: oldest(this.holding),
      oldestWaitSeconds: oldest(this.waiting),
      ...counts,
      waitSeconds: this.waits.toData(),
      holdSeconds: this.holds.toData(),
    };
  }
}

/** The requests of this thread, seen by its diagnostics channels, in all its buckets. */
class ProcessSource {
  #bounds;
  #all;
  /** @type {Map<string, RequestStatistics> | undefined} */
  #byName;
  /** @type {((seconds: number, kind: 'wait' | 'hold', name: string) => void) | undefined} */
  #onTime = undefined;
  /** @type {[string, (message: any) => void][]} */
  #subscriptions = [
    ['locks.request.start', (message) => this.#each(message, onStart)],
    ['locks.request.grant', (message) => this.#onGrant(message)],
    ['locks.request.miss', (message) => this.#each(message, onMiss)],
    ['locks.request.lost', (message) => this.#each(message, onLost)],
    ['locks.request.end', (message) => this.#onEnd(message)],
  ];

  /** @param {{ names: boolean, bounds: readonly number[] | undefined }} options */
  constructor({ names, bounds }) {
    this.#bounds = bounds;
    this.#all = new RequestStatistics(bounds);
    this.#byName = names ? new Map() : undefined;
    for (const [name, listener] of this.#subscriptions) channel(name).subscribe(listener);
  }

  /** @returns {Promise<Data>} */
  async collect() {
    const names =
      this.#byName &&
      Object.fromEntries([...this.#byName].map(([name, one]) => [name, one.toData()]));
    return { scope: 'process', bucket: '', ...this.#all.toData(), names };
  }

  /** @param {(seconds: number, kind: 'wait' | 'hold', name: string) => void} listener */
  onTime(listener) {
    this.#onTime = inTurn(this.#onTime, listener);
  }

  close() {
    for (const [name, listener] of this.#subscriptions) channel(name).unsubscribe(listener);
  }

  /**
   * @param {Message} message
   * @param {(statistics: RequestStatistics, message: Message, now: number) => void} record
   */
  #each(message, record, now = performance.now()) {
    record(this.#all, message, now);
    if (this.#byName === undefined) return;
    const known = this.#byName.get(message.name) ?? new RequestStatistics(this.#bounds);
    this.#byName.set(message.name, known);
    record(known, message, now);
  }

  /** @param {Message} message */
  #onGrant(message) {
    const now = performance.now();
    this.#onTime?.(secondsSince(this.#all.waiting.get(message), now), 'wait', message.name);
    this.#each(message, onGrant, now);
  }

  /** @param {Message} message */
  #onEnd(message) {
    const now = performance.now();
    const since = this.#all.holding.get(message);
    if (since !== undefined) this.#onTime?.(secondsSince(since, now), 'hold', message.name);
    this.#each(message, onEnd, now);
  }
}

/**
 * @param {number | undefined} since  of a request that began before the counting: unknown
 * @param {number} now
 */
const secondsSince = (since, now) => (since === undefined ? 0 : (now - since) / MS_PER_SECOND);

/** @param {RequestStatistics} statistics @param {Message} message @param {number} now */
function onStart(statistics, message, now) {
  statistics.waiting.set(message, now);
}

/** @param {RequestStatistics} statistics @param {Message} message @param {number} now */
function onGrant(statistics, message, now) {
  statistics.waits.record(secondsSince(statistics.waiting.get(message), now));
  statistics.waiting.delete(message);
  statistics.holding.set(message, now);
  statistics.counts.grants += 1;
}

/** @param {RequestStatistics} statistics @param {Message} message */
function onMiss(statistics, message) {
  statistics.waiting.delete(message);
  statistics.counts.misses += 1;
}

/** @param {RequestStatistics} statistics @param {Message} message */
function onLost(statistics, message) {
  const { reason } = /** @type {any} */ (message.error);
  statistics.lost.add(message);
  if (reason === 'stolen') statistics.counts.steals += 1;
  if (reason === 'expired') statistics.counts.expiries += 1;
}

/** @param {RequestStatistics} statistics @param {Message} message @param {number} now */
function onEnd(statistics, message, now) {
  const since = statistics.holding.get(message);
  if (statistics.holding.delete(message)) {
    statistics.holds.record(secondsSince(since, now));
    if (!statistics.lost.has(message)) statistics.counts.releases += 1;
  } else if (statistics.waiting.delete(message) && !statistics.lost.has(message)) {
    statistics.counts[isWaitTimeout(message.error) ? 'timeouts' : 'aborts'] += 1;
  }
}

/** How long the figures of one collection are used: a scrape asks each metric in turn. */
const FRESH_MS = 100;
/** Prometheus waits 10 seconds for a page; the other metrics of the host are on the same page. */
const PATIENCE_MS = 1_000;

/**
 * Reads figures for a page of the host program. The page is the host's, so a failed collection adds
 * no figures to it, and a late one neither: the page comes without them.
 * @param {() => Promise<Data>} collect
 * @returns {() => Promise<Data | undefined>} never rejects
 */
function figuresForHost(collect) {
  /** @type {Promise<Data | undefined> | undefined} */
  let answer;
  let startedAt = 0;
  // As long as a collection is under way, no second one starts: a silent engine would collect them.
  let isUnderWay = false;
  return () => {
    if (answer !== undefined && (isUnderWay || performance.now() - startedAt <= FRESH_MS)) {
      return answer;
    }
    startedAt = performance.now();
    isUnderWay = true;
    answer = new Promise((resolve) => {
      const timer = setTimeout(resolve, PATIENCE_MS, undefined);
      const end = (/** @type {Data | undefined} */ data) => {
        clearTimeout(timer);
        isUnderWay = false;
        resolve(data);
      };
      collect().then(end, () => end(undefined));
    });
    return answer;
  };
}

/** @typedef {import('./prometheus.js').Metric} Metric */

/** OpenTelemetry's names have dots, and no unit or kind at the end. */
const toInstrumentName = (/** @type {string} */ name) =>
  name.replace(/_(total|seconds|ratio)$/, '').replace(/^holdfast_/, 'holdfast.');

/**
 * @param {any} meter
 * @param {Metric} metric
 */
function createInstrument(meter, { name, help, type, unit }) {
  const options = { description: help, unit: unit ?? '1' };
  const instrumentName = toInstrumentName(name);
  return type === 'counter'
    ? meter.createObservableCounter(instrumentName, options)
    : meter.createObservableGauge(instrumentName, options);
}

/**
 * @param {any} meter
 * @param {{ onTime(listener: TimeListener): void }} source
 */
function recordTimes(meter, source) {
  const create = (/** @type {string} */ name, /** @type {string} */ description) =>
    meter.createHistogram(name, {
      description,
      unit: 's',
      advice: { explicitBucketBoundaries: [...DEFAULT_BOUNDS] },
    });
  const waits = create('holdfast.wait', 'How long granted requests had waited');
  const holds = create('holdfast.hold', 'How long locks were held');
  source.onTime((seconds, kind) => (kind === 'wait' ? waits : holds).record(seconds));
}

/**
 * @param {{ collect(): Promise<Data> }} metrics
 * @param {any} meter
 * @param {Parameters<typeof recordTimes>[1]} source
 * @returns {() => void} the meter asks for no figures any more
 */
function registerOpenTelemetry(metrics, meter, source) {
  const numbers = METRICS.filter(({ type }) => type !== 'histogram');
  const instruments = numbers.map((metric) => ({
    metric,
    instrument: createInstrument(meter, metric),
  }));
  const read = figuresForHost(() => metrics.collect());
  const observe = async (/** @type {any} */ result) => {
    const data = await read();
    if (data === undefined) return;
    for (const { metric, instrument } of instruments) {
      for (const { labels, value } of samplesOf(metric, data)) {
        if (value !== undefined) result.observe(instrument, value, labels);
      }
    }
  };
  const observables = instruments.map(({ instrument }) => instrument);
  meter.addBatchObservableCallback(observe, observables);
  recordTimes(meter, source);
  return () => meter.removeBatchObservableCallback(observe, observables);
}

/** @typedef {() => Promise<Data | undefined>} Read */

/**
 * A counter or gauge of prom-client whose values are ours at each scrape.
 * @param {any} client
 * @param {any} registry
 * @param {{ metric: Metric, labelNames: string[], read: Read }} what
 */
function registerNumber(client, registry, { metric, labelNames, read }) {
  const Kind = metric.type === 'counter' ? client.Counter : client.Gauge;
  new Kind({
    name: metric.name,
    help: metric.help,
    labelNames,
    registers: [registry],
    async collect() {
      this.reset();
      const data = await read();
      for (const { labels, value } of data === undefined ? [] : samplesOf(metric, data)) {
        if (typeof value !== 'number') continue;
        if (metric.type === 'counter') this.inc(labels, value);
        else this.set(labels, value);
      }
    },
  });
}

/**
 * A histogram of ours as a metric of prom-client, whose own class counts single values only.
 * @param {any} registry
 * @param {Metric} metric
 * @param {Read} read
 */
function registerHistogram(registry, metric, read) {
  registry.registerMetric({
    name: metric.name,
    help: metric.help,
    type: 'histogram',
    aggregator: 'sum',
    reset() {},
    async get() {
      const data = await read();
      const samples = data === undefined ? [] : samplesOf(metric, data);
      const values = samples.flatMap(({ labels, value }) =>
        value === undefined || typeof value === 'number'
          ? []
          : toValues(metric.name, value, labels),
      );
      return { name: metric.name, help: metric.help, type: 'histogram', values, aggregator: 'sum' };
    },
  });
}

/**
 * @param {string} name
 * @param {import('./lock-statistics.js').HistogramData} histogram
 * @param {Record<string, string>} labels
 */
function toValues(name, { bounds, counts, sum, count }, labels) {
  let below = 0;
  const buckets = bounds.map((bound, at) => {
    below += counts[at];
    return { metricName: `${name}_bucket`, labels: { le: bound, ...labels }, value: below };
  });
  return [
    ...buckets,
    { metricName: `${name}_bucket`, labels: { le: '+Inf', ...labels }, value: count },
    { metricName: `${name}_sum`, labels, value: sum },
    { metricName: `${name}_count`, labels, value: count },
  ];
}

/**
 * @param {{ collect(): Promise<Data> }} metrics
 * @param {any} client  the module prom-client
 * @param {any} registry
 * @returns {() => void} takes the metrics out of the registry again
 */
function registerPrometheus(metrics, client, registry) {
  const read = figuresForHost(() => metrics.collect());
  for (const metric of METRICS) {
    if (metric.type === 'histogram') registerHistogram(registry, metric, read);
    else registerNumber(client, registry, { metric, labelNames: ['bucket', 'name'], read });
  }
  const registered = METRICS.map(({ name }) => registry.getSingleMetric(name));
  return () => {
    for (const metric of registered) {
      // The host may have cleared its registry, and registered others of these names.
      if (registry.getSingleMetric(metric.name) === metric)
        registry.removeSingleMetric(metric.name);
    }
  };
}

/** @typedef {import('../../types/metrics.d.ts').LockMetricsOptions} Options */

/** @param {unknown} bounds */
function checkBounds(bounds) {
  if (bounds === undefined) return;
  const isRising = (/** @type {number[]} */ list) =>
    list.every((bound, at) => Number.isFinite(bound) && (at === 0 || bound > list[at - 1]));
  if (Array.isArray(bounds) && bounds.length > 0 && isRising(bounds)) return;
  throw new TypeError("The member 'bounds' is not an array of rising numbers of seconds");
}

/** @param {Options} options */
function openSource({
  manager = /** @type {any} */ (locks),
  scope = 'bucket',
  names = false,
  bounds,
}) {
  checkBounds(bounds);
  toLockManager(manager);
  if (scope === 'bucket') return new BucketSource(manager, { names, bounds });
  if (scope === 'process') return new ProcessSource({ names, bounds });
  throw new TypeError(`The member 'scope' is neither 'bucket' nor 'process': ${String(scope)}`);
}

/** Figures of a bucket, or of what this thread asks for. Counts from when it is made. */
class LockMetrics {
  #source;
  /** @type {(() => void)[]} */
  #unregister = [];

  /** @param {Options | null} [options] */
  constructor(options = undefined) {
    const source = toDictionarySource(options, 'LockMetricsOptions') ?? {};
    warnOfMisspeltOptions(source, OF_METRICS);
    this.#source = openSource(source);
  }

  /** @returns {Promise<import('../../types/metrics.d.ts').LockMetricsData>} */
  collect() {
    return this.#source.collect();
  }

  async toPrometheus() {
    return toPrometheusText(await this.collect());
  }

  /**
   * @param {any} client  the module prom-client
   * @param {any} [registry]  prom-client's default one when left out
   */
  registerPrometheus(client, registry = client.register) {
    this.#unregister.push(registerPrometheus(this, client, registry));
  }

  /** @param {any} meter  of the OpenTelemetry API */
  registerOpenTelemetry(meter) {
    this.#unregister.push(registerOpenTelemetry(this, meter, this.#source));
  }

  /** Counts nothing any more, and costs nothing: its metrics leave the registry and the meter. */
  close() {
    for (const unregister of this.#unregister.splice(0)) unregister();
    this.#source.close();
  }

  [Symbol.dispose]() {
    this.close();
  }
}
keepName(LockMetrics, 'LockMetrics');

/** @type {LockMetrics | undefined} of the bucket `default`, for collect() and toPrometheus() */
let shared;
const sharedMetrics = () => (shared ??= new LockMetrics());

module.exports = {
  LockMetrics,
  collect: () => sharedMetrics().collect(),
  toPrometheus: () => sharedMetrics().toPrometheus(),
};
