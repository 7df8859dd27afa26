'use strict';

const { mkdtempSync, rmSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { Worker } = require('node:worker_threads');
const { GRANTED, QUEUED } = require('../../lib/backends/outcome.js');
const { SharedMemoryBackend } = require('../../lib/backends/shared-memory/backend.js');
const {
  EVENT_RELEASED,
  LOSS_UNKNOWN,
} = require('../../lib/backends/shared-memory/native-constants.js');
const { RecordedRequest } = require('../support/recorded-request.js');

/** The class with another openAgent() of the native part. */
function backendWith(openAgentOver) {
  const lib = '../../lib';
  let Backend;
  jest.isolateModules(() => {
    const binding = jest.requireActual(`${lib}/binding.js`);
    jest.doMock(`${lib}/binding.js`, () => ({
      ...binding,
      loadBinding() {
        const native = binding.loadBinding();
        return { ...native, openAgent: openAgentOver(native) };
      },
    }));
    ({ SharedMemoryBackend: Backend } = require(`${lib}/backends/shared-memory/backend.js`));
  });
  return Backend;
}

/** The class as a worker thread has it. */
const BackendOfAnotherThread = backendWith(
  (native) =>
    (options, ...others) =>
      native.openAgent({ ...options, threadId: 7 }, ...others),
);

const WATCHDOG_MS = 20_000;

let afterSlice; // called when a native wait is over and nothing has come
const BackendWithSlices = backendWith((native) => (...args) => {
  const agent = native.openAgent(...args);
  return Object.assign(Object.create(agent), { waitFor: afterWaitsOf(agent.waitFor) });
});
const afterWaitsOf = (waitFor) => (id) => {
  const kind = waitFor(id, 0);
  if (kind < 0) afterSlice();
  return kind;
};

let directory;
let backend;
let sibling; // of the same thread
let other;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'holdfast-'));
  const options = { directory, sweeps: false };
  backend = new SharedMemoryBackend(options);
  sibling = new SharedMemoryBackend(options);
  other = new BackendOfAnotherThread(options);
});
afterEach(() => {
  for (const agent of [backend, sibling, other]) agent.close();
  rmSync(directory, { recursive: true, force: true });
});

const NO_EXTRAS = { limit: 0, holdLimit: 0, maxPending: Infinity, label: '', callSite: '' };
/** Something that ends though this thread is blocked. */
const shortly = (options) => ({ ...options, extras: { ...NO_EXTRAS, holdLimit: 30 } });

function makeRequest(agent, outcome, name, options) {
  const request = new RecordedRequest(name, options);
  expect(agent.enqueue(request)).toBe(outcome);
  return request;
}

/**
 * A lock that is held, and behind it a lock with a hold limit, which ends though this thread is
 * blocked. Its time runs from the release of the first: requests behind both are queued by then.
 */
function holdInTurn(name) {
  const first = makeRequest(other, GRANTED, name);
  const second = makeRequest(other, QUEUED, name, shortly());
  return { second, releaseFirst: () => other.release(first) };
}

const countsOf = ({ held, pending }) => [held.length, pending.length];

test('blocks until the grant, and reports it by its result alone', async () => {
  const { second, releaseFirst } = holdInTurn('a');
  const request = makeRequest(backend, QUEUED, 'a');
  releaseFirst();
  expect(backend.waitSync(request, Infinity)).toBe('granted');
  await second.until('lost: expired');
  expect(request.token).toBeGreaterThan(second.token);
  expect(request.notices).toEqual([]);
  expect(backend.release(request)).toBeUndefined();
  expect(countsOf(await backend.snapshot())).toEqual([0, 0]);
});

test('after the time the request is still queued', async () => {
  const holder = makeRequest(other, GRANTED, 'a');
  const request = makeRequest(backend, QUEUED, 'a');
  for (const timeout of [0, 1, 60]) expect(backend.waitSync(request, timeout)).toBe('timeout');
  expect(countsOf(await backend.snapshot())).toEqual([1, 1]);
  other.release(holder);
  await request.until('granted');
});

test('a grant that was on its way before is found at once', () => {
  const holder = makeRequest(other, GRANTED, 'a');
  const request = makeRequest(backend, QUEUED, 'a');
  other.release(holder);
  expect(backend.waitSync(request, 0)).toBe('granted');
});

test('events between two native waits are left to the second one', async () => {
  const slicing = new BackendWithSlices({ directory, sweeps: false });
  const [holder, holderOfOther] = [
    makeRequest(other, GRANTED, 'a'),
    makeRequest(other, GRANTED, 'b'),
  ];
  const bystander = makeRequest(slicing, QUEUED, 'b');
  const request = makeRequest(slicing, QUEUED, 'a');
  afterSlice = () => {
    afterSlice = () => {};
    other.release(holderOfOther);
    other.release(holder);
  };
  expect(slicing.waitSync(request, WATCHDOG_MS)).toBe('granted');
  await bystander.until('granted');
  expect(request.notices).toEqual([]);
  slicing.close();
});

test('so is the answer to a release whose shard was busy', () => {
  const waits = [];
  let isAnswered = false;
  let isLost = false;
  const Backend = backendWith((native) => (...args) => {
    const agent = native.openAgent(...args);
    const { end, readEvents } = agent;
    return Object.assign(Object.create(agent), {
      end: (id) => end(id) | LOSS_UNKNOWN,
      waitFor(id) {
        waits.push(id);
        if (isLost || waits.length > 2) throw new Error('it would wait for ever');
        if (isAnswered) return EVENT_RELEASED;
        isAnswered = true; // between this look and the next
        return -1;
      },
      readEvents() {
        isLost = isAnswered;
        return readEvents();
      },
    });
  });
  const releasing = new Backend({ directory, sweeps: false });
  const id = 0;
  expect(releasing.releaseSync(makeRequest(releasing, GRANTED, 'a', shortly()))).toBeUndefined();
  expect(waits).toEqual([id, id]);
  releasing.close();
});

test('notifies the other requests of this agent of their events', async () => {
  const { releaseFirst } = holdInTurn('a');
  const holder = makeRequest(other, GRANTED, 'b');
  const bystander = makeRequest(backend, QUEUED, 'b');
  const request = makeRequest(backend, QUEUED, 'a');
  releaseFirst();
  other.release(holder);
  expect(backend.waitSync(request, Infinity)).toBe('granted');
  await bystander.until('granted');
  expect(bystander.notices).toEqual(['granted']);
});

test('a lock that was lost again is granted, and the release says how it was lost', () => {
  const holder = makeRequest(other, GRANTED, 'a');
  const request = makeRequest(backend, QUEUED, 'a');
  other.release(holder);
  makeRequest(other, GRANTED, 'a', { steal: true });
  expect(backend.waitSync(request, Infinity)).toBe('granted');
  expect(backend.release(request)).toBe('stolen');
  expect(backend.release(request)).toBeUndefined();
  expect(request.notices).toEqual([]);
});

describe('does not wait for its own thread:', () => {
  const shared = { mode: 'shared' };
  const limited = (limit) => ({ ...shared, extras: { ...NO_EXTRAS, limit } });

  const mine = (options) => () => backend.enqueue(new RecordedRequest('a', options));
  const siblings = (options) => () => sibling.enqueue(new RecordedRequest('a', options));
  const theirs = (options) => () => other.enqueue(new RecordedRequest('a', options));

  test.each([
    ['its own lock', [mine()], {}],
    ['its own shared lock', [mine(shared)], {}],
    ['its own request', [theirs(), mine()], {}],
    ['another that waits for its own shared lock', [mine(shared), theirs()], shared],
    ['another that waits for its own request', [theirs(), mine(shared), theirs()], shared],
    ['its own locks at their limit', [mine(shared), mine(shared)], limited(2)],
    ['the lock of another backend of the thread', [siblings()], {}],
    ['the request of another backend of the thread', [theirs(), siblings()], {}],
    ['its own and the locks of another backend', [mine(shared), siblings(shared)], limited(2)],
  ])('behind %s', async (_, before, options) => {
    for (const make of before) make();
    const request = makeRequest(backend, QUEUED, 'a', options);
    expect(backend.waitSync(request, Infinity)).toBe('deadlock');
    expect((await backend.snapshot()).pending).toContainEqual({
      clientId: backend.clientId,
      mode: request.mode,
      name: 'a',
    });
  });

  test.each([
    ['the locks of others', [theirs(), theirs(shared)], {}],
    ['fewer own locks than its limit', [theirs(shared), mine(shared)], limited(2)],
    ['its own request, beside which it may hold', [theirs(), mine(shared)], shared],
  ])('but waits behind %s', (_, before, options) => {
    for (const make of before) make();
    const request = makeRequest(backend, QUEUED, 'a', options);
    expect(backend.waitSync(request, 0)).toBe('timeout');
  });
});

const WAITING_WORKER = `
  const { workerData, parentPort } = require('node:worker_threads');
  const { SharedMemoryBackend } = require(workerData.backend);
  const { RecordedRequest } = require(workerData.request);
  const backend = new SharedMemoryBackend({ directory: workerData.directory, sweeps: false });
  const request = new RecordedRequest('a');
  parentPort.postMessage(backend.enqueue(request));
  backend.waitSync(request, Infinity);
`;

test('a worker thread that waits can be terminated, and its request goes', async () => {
  const holder = makeRequest(backend, GRANTED, 'a');
  const worker = new Worker(WAITING_WORKER, {
    eval: true,
    workerData: {
      directory,
      backend: require.resolve('../../lib/backends/shared-memory/backend.js'),
      request: require.resolve('../support/recorded-request.js'),
    },
  });
  expect(await new Promise((resolve) => worker.once('message', resolve))).toBe(QUEUED);
  await worker.terminate();
  expect(countsOf(await backend.snapshot())).toEqual([1, 0]);
  expect(backend.release(holder)).toBeUndefined();
});
