'use strict';

// Locks in a monitoring system: a page for Prometheus with prom-client, the same figures for
// OpenTelemetry, and a span for each request.
//
//   node examples/metrics/main.js            serves http://127.0.0.1:9464/metrics until Ctrl-C
//   node examples/metrics/main.js --json     works a little, reads its own page, prints both

const { once } = require('node:events');
const { createServer } = require('node:http');
const { mkdtempSync, rmSync } = require('node:fs');
const { tmpdir } = require('node:os');
const path = require('node:path');
const { parseArgs } = require('node:util');
const promClient = require('prom-client');
const {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} = require('@opentelemetry/sdk-metrics');
const {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
} = require('@opentelemetry/sdk-trace-base');
const { openLockManager } = require('holdfast');
const { LockMetrics } = require('holdfast/metrics');
const { traceLocks } = require('./lock-spans.js');

const PORT = 9464;
const pause = (/** @type {number} */ ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** @param {import('holdfast').LockManager} locks */
async function work(locks) {
  await Promise.all([
    locks.request('ledger', { label: 'first' }, () => pause(50)),
    locks.request('ledger', { timeout: 5 }, () => {}).catch(() => {}),
    locks.request('ledger', { label: 'second' }, () => pause(5)),
  ]);
}

/** @param {LockMetrics} metrics */
function forPrometheus(metrics) {
  const registry = new promClient.Registry();
  metrics.registerPrometheus(promClient, registry);
  return createServer(async (_, response) => {
    response.setHeader('Content-Type', registry.contentType);
    response.end(await registry.metrics());
  });
}

/** @param {LockMetrics} metrics */
function forOpenTelemetry(metrics) {
  // A real program would have an OTLP exporter here.
  const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 10_000 });
  const provider = new MeterProvider({ readers: [reader] });
  metrics.registerOpenTelemetry(provider.getMeter('holdfast'));
  return { exporter, provider };
}

function forTraces() {
  const exporter = new InMemorySpanExporter();
  const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
  const stop = traceLocks(provider.getTracer('holdfast'));
  return { exporter, stop };
}

/** @param {import('@opentelemetry/sdk-metrics').ResourceMetrics[]} exported */
const pointsOf = (exported) =>
  Object.fromEntries(
    (exported.at(-1)?.scopeMetrics ?? [])
      .flatMap(({ metrics }) => metrics)
      .map(({ descriptor, dataPoints }) => [descriptor.name, dataPoints.at(-1)?.value]),
  );

async function main() {
  const { values } = parseArgs({ options: { json: { type: 'boolean' } } });
  const isShort = values.json;
  const directory = mkdtempSync(path.join(tmpdir(), 'holdfast-metrics-'));
  const locks = openLockManager({ directory });
  const metrics = new LockMetrics({ manager: locks });
  await metrics.collect(); // it counts from here on
  const server = forPrometheus(metrics).listen(isShort ? 0 : PORT, '127.0.0.1');
  await once(server, 'listening');
  const { exporter, provider } = forOpenTelemetry(metrics);
  const traces = forTraces();
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  if (!isShort) {
    console.log(`http://127.0.0.1:${port}/metrics`);
    for (;;) await work(locks);
  }
  await work(locks);
  await pause(100); // events are seen within 20 ms
  const page = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  await provider.forceFlush();
  const spans = traces.exporter.getFinishedSpans().map(({ name, attributes, status }) => ({
    name,
    label: attributes['lock.label'],
    status: status.code,
  }));
  console.log(JSON.stringify({ page, points: pointsOf(exporter.getMetrics()), spans }));
  await provider.shutdown();
  traces.stop();
  metrics.close();
  locks.close();
  server.close();
  rmSync(directory, { recursive: true });
}

main();
