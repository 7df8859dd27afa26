'use strict';

const { spawnSync } = require('node:child_process');
const path = require('node:path');

const EXAMPLES = path.join(__dirname, '..', '..', 'examples');

function runExample(name, ...options) {
  const main = path.join(EXAMPLES, name, 'main.js');
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ['--no-warnings', main, '--json', ...options],
    { encoding: 'utf8' },
  );
  return { status, errors: stderr, result: stdout && JSON.parse(stdout) };
}

describe('refresh-token', () => {
  test('no session is logged out, and tokens are refreshed only when they have expired', () => {
    const { status, errors, result } = runExample('refresh-token', '--seconds', '3');
    expect(errors).toBe('');
    expect(result).toMatchObject({
      revocations: 0,
      logouts: 0,
      refusedCalls: 0,
      needlessRefreshes: 0,
      ok: true,
    });
    expect(result.refreshes).toBeGreaterThan(0);
    expect(result.kills).toBeGreaterThan(0);
    expect(status).toBe(0);
  });

  test('without the locks a session is logged out', () => {
    const { status, result } = runExample('refresh-token', '--seconds', '30', '--without-lock');
    // By a call with tokens that were replaced, or because the whole session was revoked.
    expect(result.logouts).toBeGreaterThan(0);
    expect(result.ok).toBe(false);
    expect(status).toBe(1);
  });
});

/** A server, a client that goes away in the middle of its request, and a client that asks later. */
const ABANDONED = `
  const net = require('node:net');
  const { Server } = require('./server.js');
  (async () => {
    const server = new Server(40);
    const url = await server.listen('127.0.0.1', 0);
    const socket = net.connect(new URL(url).port, '127.0.0.1');
    socket.write('POST /token HTTP/1.1\\r\\nhost: a\\r\\ncontent-length: 9\\r\\n\\r\\n{');
    await fetch(url + '/counts'); // the server has begun to read the request
    socket.destroy();
    for (let i = 0; i < 5; i += 1) {
      const { status } = await fetch(url + '/counts');
      if (status !== 200) process.exitCode = 2;
    }
    server.close();
  })();
`;

test('the server of refresh-token outlives clients that are killed while they ask', () => {
  const cwd = path.join(EXAMPLES, 'refresh-token');
  const { status, stderr } = spawnSync(process.execPath, ['-e', ABANDONED], {
    encoding: 'utf8',
    cwd,
  });
  expect([status, stderr]).toEqual([0, '']);
});

describe('rolling-upgrade', () => {
  test('every order is served once and in its turn, by both releases', () => {
    const { status, errors, result } = runExample('rolling-upgrade');
    expect(errors).toBe('');
    expect(result).toMatchObject({ unfinished: 0, outOfOrder: 0, ok: true });
    for (const orders of result.orders) expect(orders).toBeGreaterThan(0);
    expect(status).toBe(0);
  });

  test('without the lock the processes get into each other’s way', () => {
    const { status, result } = runExample('rolling-upgrade', '--without-lock');
    expect(result.outOfOrder).toBeGreaterThan(0);
    expect(result.ok).toBe(false);
    expect(status).toBe(1);
  });
});

describe('run-every', () => {
  test('no report is missed or repeated, although each leader is killed', () => {
    const { status, errors, result } = runExample('run-every');
    expect(errors).toBe('');
    expect(result).toMatchObject({ missing: 0, repeated: 0, kills: 3, ok: true });
    expect(result.killToReportMs).toHaveLength(3);
    expect(status).toBe(0);
  });

  test('without the lock every process writes the reports', () => {
    const { status, result } = runExample('run-every', '--without-lock');
    expect(result.repeated).toBeGreaterThan(0);
    expect(status).toBe(1);
  });
});

describe('single-writer', () => {
  test('every entry is there, in order', () => {
    const { status, errors, result } = runExample('single-writer', '--entries', '100');
    expect(errors).toBe('');
    expect(result).toMatchObject({ expected: 400, found: 400, failures: 0, violations: 0 });
    expect(status).toBe(0);
  });

  test('without the lock entries are out of order or refused', () => {
    const { status, result } = runExample('single-writer', '--without-lock');
    expect(result.failures + result.violations).toBeGreaterThan(0);
    expect(status).toBe(1);
  });
});

describe('fencing', () => {
  test('the late write of a process that has lost its lock is refused', () => {
    const { status, errors, result } = runExample('fencing');
    expect(errors).toBe('');
    expect(result.writes).toEqual([
      { who: 'stealer', value: 'from the stealer', isAccepted: true },
      { who: 'previous holder', value: 'from the previous holder', isAccepted: false },
    ]);
    expect(status).toBe(0);
  });

  test('without the token it replaces the newer value', () => {
    const { status, result } = runExample('fencing', '--without-token');
    expect(result.value).toBe('from the previous holder');
    expect(status).toBe(1);
  });
});

test('metrics: prom-client and OpenTelemetry have the figures, and each request is a span', () => {
  const { status, errors, result } = runExample('metrics');
  expect(errors).toBe('');
  expect(status).toBe(0);
  expect(result.page).toMatch(/^holdfast_grants_total\{bucket="default"\} 2$/m);
  expect(result.page).toMatch(/^holdfast_hold_seconds_count\{bucket="default"\} 2$/m);
  expect(result.points).toMatchObject({
    'holdfast.grants': 2,
    'holdfast.timeouts': 1,
    'holdfast.hold': { count: 2 },
  });
  const requests = result.spans.filter(({ name }) => name === 'lock request');
  expect(requests.map(({ label }) => label).sort()).toEqual(['', 'first', 'second']);
  expect(result.spans.filter(({ name }) => name === 'lock wait')).toHaveLength(3);
});

test('an unknown option is refused', () => {
  const { status, errors } = runExample('metrics', '--jsonn');
  expect(errors).toMatch(/Unknown option '--jsonn'/);
  expect(status).toBe(1);
});
