'use strict';

const { openLockManager } = require('../../lib/index.js');

// Of a URL with no etcd behind it, all waits have a bound or a warning, with gRPC's reason.

const NOWHERE = 'etcd://127.0.0.1:9';
const REASON = expect.stringContaining('ECONNREFUSED');

let locks;
beforeEach(() => {
  locks = openLockManager({ url: NOWHERE });
});
afterEach(() => {
  jest.restoreAllMocks();
  locks.close();
});

test('a request waits, and a warning says why', async () => {
  const waiting = locks.request('a', () => {}).catch(({ name }) => name);
  const warning = await new Promise((resolve) => {
    const emit = jest.spyOn(process, 'emitWarning');
    emit.mockImplementation((...words) => resolve(words));
  });
  expect(warning).toEqual([REASON, { type: 'HoldfastWarning', code: 'HOLDFAST_UNREACHABLE' }]);
  locks.close();
  expect(await waiting).toBe('AbortError');
});

test('a TimeoutError says why', async () => {
  const { name, message } = await locks.request('a', { timeout: 100 }, () => {}).catch((e) => e);
  expect({ name, message }).toEqual({ name: 'TimeoutError', message: REASON });
});

test.each([
  ['isLocked()', 'InvalidStateError', () => locks.isLocked('a')],
  ['requestSync()', 'InvalidStateError', () => locks.requestSync('a', () => {})],
  [
    'requestSync() with a timeout',
    'TimeoutError',
    () => locks.requestSync('a', { timeout: 3000 }, () => {}),
  ],
])('%s throws, and says why', (_, name, call) => {
  expect(call).toThrow(expect.objectContaining({ name, message: REASON }));
});

test.each(['query', 'inspect'])('%s() rejects, and says why', async (call) => {
  const { name, message } = await locks[call]().catch((error) => error);
  expect({ name, message }).toEqual({ name: 'InvalidStateError', message: REASON });
});
