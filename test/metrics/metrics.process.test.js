'use strict';

const { readFileSync } = require('node:fs');
const path = require('node:path');
const { LockMetrics } = require('../../lib/metrics/index.js');
const promClient = require('prom-client');
const { openLockManager } = require('../../lib/index.js');
const { ProcessBucket, untilEqual } = require('../support/process-bucket.js');

let bucket;
let metrics;
beforeEach(() => {
  bucket = new ProcessBucket();
});
afterEach(async () => {
  metrics?.close();
  await bucket.close();
});

/** Metrics that have begun to count. */
async function count(options = {}) {
  metrics = new LockMetrics({ manager: bucket.locks, ...options });
  await metrics.collect();
}

/** Resolves when these figures are as expected. */
const untilCounted = (expected) =>
  untilEqual(async () => {
    const data = await metrics.collect();
    return Object.fromEntries(Object.keys(expected).map((name) => [name, data[name]]));
  }, expected);

describe.each(['bucket', 'process'])('of a %s', (scope) => {
  test('requests are counted by how they ended', async () => {
    await count({ scope });
    const { locks } = bucket;
    await locks.request('a', async () => {
      await locks.request('a', { timeout: 1 }, () => {}).catch(() => {});
      const controller = new AbortController();
      const aborted = locks.request('a', { signal: controller.signal }, () => {}).catch(() => {});
      controller.abort();
      await aborted;
    });
    await locks.request('b', { holdLimit: 1 }, () => new Promise(() => {})).catch(() => {});
    const stolen = locks.request('c', () => new Promise(() => {})).catch(() => {});
    await locks.request('c', { steal: true }, () => stolen);
    const expected = { grants: 4, timeouts: 1, aborts: 1, expiries: 1, steals: 1, releases: 2 };
    await untilCounted({ ...expected, held: 0, waiting: 0 });
    const { waitSeconds, holdSeconds } = await metrics.collect();
    expect(waitSeconds.count).toBe(4);
    expect(holdSeconds.count).toBe(4);
  });

  test('an error of a callback that has a reason is no loss: the release is counted', async () => {
    await count({ scope });
    const error = Object.assign(new Error('mine'), { reason: 'mine' });
    await bucket.locks.request('a', () => Promise.reject(error)).catch(() => {});
    await untilCounted({ grants: 1, releases: 1, held: 0 });
  });

  test('a wait that AbortSignal.timeout() ends is an abort', async () => {
    await count({ scope });
    const signal = AbortSignal.timeout(1);
    await bucket.locks.request('a', () =>
      bucket.locks.request('a', { signal }, () => {}).catch(() => {}),
    );
    await untilCounted({ aborts: 1, timeouts: 0 });
  });

  test('two meters of OpenTelemetry both get the times', async () => {
    await count({ scope });
    const times = [[], []];
    for (const list of times) {
      metrics.registerOpenTelemetry({
        createObservableCounter: () => ({}),
        createObservableGauge: () => ({}),
        addBatchObservableCallback() {},
        removeBatchObservableCallback() {},
        createHistogram: (name) => ({ record: () => list.push(name) }),
      });
    }
    await bucket.locks.request('a', () => {});
    await untilCounted({ grants: 1, releases: 1 });
    expect(times).toEqual([
      ['holdfast.wait', 'holdfast.hold'],
      ['holdfast.wait', 'holdfast.hold'],
    ]);
  });

  test('a lock that is stolen before its callback is not held', async () => {
    await count({ scope });
    const stolen = bucket.locks.request('a', { steal: true }, () => {}).catch(() => {});
    await bucket.locks.request('a', { steal: true }, () => stolen);
    await untilCounted({ grants: 2, releases: 1, steals: 1, aborts: 0, held: 0, waiting: 0 });
  });

  test('the release of a lock that was held before is not counted', async () => {
    const release = await bucket.hold('a');
    await count({ scope, names: true });
    await release();
    await bucket.locks.request('b', () => {});
    await untilCounted({ grants: 1, releases: 1, held: 0 });
    expect((await metrics.collect()).names.a?.releases ?? 0).toBe(0);
  });

  test('the current holders and waiters', async () => {
    await count({ scope });
    const release = await bucket.hold('a');
    const waiting = bucket.locks.request('a', () => {});
    await untilCounted({ held: 1, waiting: 1 });
    await release();
    await waiting;
    await untilCounted({ held: 0, waiting: 0, grants: 2 });
  });

  test('the waiting requests of high and low priority, and the overtakes', async () => {
    await count({ scope });
    const { locks } = bucket;
    const release = await bucket.hold('a');
    const waiting = [
      locks.request('a', { priority: 'background' }, () => {}),
      locks.request('a', () => {}),
      locks.request('a', { priority: 'user-blocking' }, () => {}),
    ];
    await untilCounted({ waiting: 3, waitingUrgent: 1, waitingBackground: 1 });
    await release();
    await Promise.all(waiting);
    const overtakes = scope === 'bucket' ? 3 : undefined;
    await untilCounted({ waitingUrgent: 0, waitingBackground: 0, grants: 4, overtakes });
  });

  test('the times of waits and holds are sorted into the bounds', async () => {
    await count({ scope, bounds: [0.02, 3600] });
    const release = await bucket.hold('a');
    const waiting = bucket.locks.request('a', () => {});
    await new Promise((resolve) => setTimeout(resolve, 60));
    await release();
    await waiting;
    await untilCounted({ releases: 2 });
    const { waitSeconds, holdSeconds } = await metrics.collect();
    expect(waitSeconds).toMatchObject({ bounds: [0.02, 3600], count: 2 });
    // On a busy machine what does not wait takes long, too.
    for (const { counts } of [waitSeconds, holdSeconds]) {
      expect(counts[0] + counts[1]).toBe(2);
      expect(counts[1]).toBeGreaterThanOrEqual(1);
      expect(counts[2]).toBe(0);
    }
    expect(holdSeconds.sum).toBeGreaterThan(0.02);
  });

  test('names are labels where that was asked for, and the sum is not beside them', async () => {
    await count({ scope, names: true });
    const odd = 'a "name"\nwith \\ and \ud800';
    await bucket.locks.request(odd, () => {});
    await bucket.locks.request('b', () => {});
    await untilCounted({ grants: 2 });
    const page = await metrics.toPrometheus();
    const grants = page.split('\n').filter((line) => /^holdfast_grants_total/.test(line));
    expect(grants).toEqual([
      expect.stringMatching(/name="a \\"name\\"\\nwith \\\\ and \ufffd"\} 1$/),
      expect.stringMatching(/name="b"\} 1$/),
    ]);
  });

  test('nothing is counted after close()', async () => {
    await count({ scope });
    metrics.close();
    await bucket.locks.request('a', () => {});
    const other = new LockMetrics({ manager: bucket.locks, scope });
    await other.collect();
    await bucket.locks.request('b', () => {});
    await untilEqual(async () => (await other.collect()).grants, 1);
    expect((await metrics.collect()).grants).toBe(0);
    other.close();
  });
});

test.each(['grafana-dashboard.json', 'alerts.yml'])(
  '%s asks for figures that there are',
  async (file) => {
    await count();
    const page = await metrics.toPrometheus();
    const known = new Set([...page.matchAll(/^# TYPE (\w+)/gm)].map(([, name]) => name));
    const text = readFileSync(path.join(__dirname, '../../examples/metrics', file), 'utf8');
    const requested = [...text.matchAll(/\bholdfast_\w+/g)].map(([name]) =>
      name.replace(/_(bucket|sum|count)$/, ''),
    );
    expect(requested.length).toBeGreaterThan(5);
    expect(requested.filter((name) => !known.has(name))).toEqual([]);
  },
);

describe('of a bucket', () => {
  test('other processes count, and their deaths', async () => {
    await count();
    const actor = await bucket.open('process');
    await actor.hold('a');
    await untilCounted({ held: 1 });
    actor.endBy('SIGKILL');
    await untilCounted({ deaths: 1, held: 0 });
  });

  test('a stopped holder', async () => {
    const actor = await bucket.open('process');
    await actor.hold('a');
    await count();
    expect((await metrics.collect()).stoppedHolders).toBe(0);
    await actor.freeze();
    await untilCounted({ stoppedHolders: 1 });
    actor.thaw();
  });

  test('requests that wait for each other', async () => {
    await count();
    const { locks } = bucket;
    const controller = new AbortController();
    const { signal } = controller;
    const warn = jest.spyOn(process, 'emitWarning').mockImplementation(() => {});
    const release = await bucket.hold('b', {});
    const inside = locks.request('a', { deadlock: 'warn' }, () =>
      locks.request('a', { signal }, () => {}).catch(() => {}),
    );
    await untilCounted({ deadlockedRequests: 1 });
    controller.abort();
    await inside;
    await untilCounted({ deadlockedRequests: 0 });
    warn.mockRestore();
    await release();
  });

  test('how full the table is', async () => {
    await count();
    const actor = await bucket.open('process');
    const before = (await metrics.collect()).table;
    expect(before).toMatchObject({ processes: 2, agents: 2 });
    expect(before.maxCells).toBeGreaterThan(100_000);
    await actor.hold('one more');
    const { table } = await metrics.collect();
    expect(table.usedCells).toBe(before.usedCells + 2); // the request, and the name
    expect(await metrics.toPrometheus()).toMatch(/^holdfast_table_fill_ratio\{.*\} 0\.0000\d/m);
  });

  test('a request that waited before the metrics were made is timed as well', async () => {
    const release = await bucket.hold('a');
    const waiting = bucket.locks.request('a', () => {});
    await count({ bounds: [1e-9] });
    await new Promise((resolve) => setTimeout(resolve, 20));
    await release();
    await waiting;
    await untilCounted({ grants: 1, releases: 1 });
    expect((await metrics.collect()).waitSeconds.counts).toEqual([0, 1]);
  });

  test('metrics alone do not keep a process alive', async () => {
    const { spawnSync } = require('node:child_process');
    const program = `
      const { readFileSync } = require('node:fs');
const path = require('node:path');
const { LockMetrics } = require('./lib/metrics/index.js');
      const { openLockManager } = require('./lib/index.js');
      const manager = openLockManager({ directory: ${JSON.stringify(bucket.directory)} });
      new LockMetrics({ manager }).collect().then(() => console.log('counts'));`;
    const { stdout, status } = spawnSync(process.execPath, ['-e', program], { encoding: 'utf8' });
    expect({ stdout, status }).toEqual({ stdout: 'counts\n', status: 0 });
  });
});

test('the page is what prom-client makes of the same figures', async () => {
  await count();
  await bucket.locks.request('a', () => {});
  await untilCounted({ grants: 1, releases: 1 });
  const registry = new promClient.Registry();
  metrics.registerPrometheus(promClient, registry);
  const sort = (page) =>
    page
      .split('\n')
      .filter((line) => /^holdfast_/.test(line) && !/_oldest_/.test(line))
      .map((line) => line.replace(/\{(.*)\}/, (_, labels) => `{${labels.split(',').sort()}}`))
      .sort();
  expect(sort(await registry.metrics())).toEqual(sort(await metrics.toPrometheus()));
});

test.each([
  ['a scope that is none', { scope: 'machine' }],
  ['bounds that do not rise', { bounds: [2, 1] }],
  ['no bounds', { bounds: [] }],
  ['a bound that is no number', { bounds: [NaN] }],
  ['a manager that is none', { manager: 1 }],
])('%s is refused, by its name', (_, options) => {
  const manager = openLockManager({ directory: bucket.directory });
  const [member] = Object.keys(options);
  const create = () => new LockMetrics({ manager, ...options });
  expect(create).toThrow(TypeError);
  expect(create).toThrow(`'${member}'`);
});

test('the options null are none, and another value is refused', () => {
  expect(() => new LockMetrics(null).close()).not.toThrow();
  for (const options of [5, 'bucket']) {
    expect(() => new LockMetrics(options)).toThrow(
      new TypeError('The value is not a LockMetricsOptions object'),
    );
  }
});
