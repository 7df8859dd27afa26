'use strict';

const { keepName } = require('../copies.js');
const { toLockManager } = require('../locks/lock-manager.js');
const { locks } = require('../locks/lock-managers.js');
const { BucketSource } = require('./bucket-source.js');
const { registerOpenTelemetry } = require('./open-telemetry.js');
const { ProcessSource } = require('./process-source.js');
const { registerPrometheus } = require('./prom-client.js');
const { toPrometheusText } = require('./prometheus-text.js');

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

  /** @param {Options} [options] */
  constructor(options = {}) {
    this.#source = openSource(options);
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
