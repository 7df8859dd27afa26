'use strict';

const { threadId } = require('node:worker_threads');
const { GRANTED, MISSED, QUEUED } = require('../../lib/backends/outcome.js');
const { makeRequest, RecordedRequest } = require('./recorded-request.js');

const MAX = 100;

/**
 * The events of a backend for watchers, as tests.
 * @param {() => { first: object, second: object }} agents  two agents of an empty bucket
 * @param {(backend: object, name: string) => void} checkHeld  after a release
 */
function testBackendWatch(agents, checkHeld) {
  let first;
  let second;
  beforeEach(() => {
    ({ first, second } = agents());
  });

  const typesOf = async (watch) => (await watch.read(MAX)).map(({ type }) => type);

  test('a watch sees the requests of all agents, in their order', async () => {
    const watch = second.watch(undefined);
    const holder = makeRequest(first, GRANTED, 'a');
    const waiter = makeRequest(second, QUEUED, 'a', { mode: 'shared' });
    first.release(holder);
    await waiter.until('granted');
    const agent = { pid: process.pid, threadId };
    const numbers = { time: expect.any(Number), requestId: expect.any(Number) };
    const rank = { priority: 'user-visible', overtakes: 0 };
    const common = { name: 'a', lost: 0, ...agent, ...numbers, ...rank };
    const ofFirst = { ...common, mode: 'exclusive', clientId: first.clientId };
    const ofSecond = { ...common, mode: 'shared', clientId: second.clientId };
    const events = (await watch.read(MAX)).map(({ host: _host, ...event }) => event);
    expect(events).toEqual([
      { type: 'granted', ...ofFirst, token: holder.token },
      { type: 'queued', ...ofSecond, token: null },
      { type: 'released', ...ofFirst, token: holder.token },
      { type: 'granted', ...ofSecond, token: waiter.token },
    ]);
    watch.close();
  });

  test('a request that is refused or has lost its lock is no further event', async () => {
    const holder = makeRequest(first, GRANTED, 'a');
    const watch = second.watch('a');
    makeRequest(second, MISSED, 'a', { ifAvailable: true });
    makeRequest(second, GRANTED, 'a', { steal: true });
    await holder.until('lost: stolen');
    first.release(holder);
    expect(await typesOf(watch)).toEqual(['stolen', 'granted']);
    watch.close();
  });

  test('cancel() is an abort, or the end of the time', async () => {
    makeRequest(first, GRANTED, 'a');
    const watch = first.watch('a');
    second.cancel(makeRequest(second, QUEUED, 'a'));
    second.cancel(makeRequest(second, QUEUED, 'a'), true);
    expect(await typesOf(watch)).toEqual(['queued', 'aborted', 'queued', 'timedout']);
    watch.close();
  });

  test('cancel() of a grant that is on its way is a release', async () => {
    const holder = makeRequest(first, GRANTED, 'a');
    const waiter = makeRequest(second, QUEUED, 'a');
    const watch = first.watch('a');
    first.release(holder);
    checkHeld(first, 'a');
    second.cancel(waiter);
    expect(await typesOf(watch)).toEqual(['released', 'granted', 'released']);
    watch.close();
  });

  test('a lock that is released too late has expired', async () => {
    const extras = { limit: 0, holdLimit: 1, maxPending: Infinity, label: '', callSite: '' };
    const watch = second.watch('a');
    const holder = new RecordedRequest('a', { extras });
    first.enqueue(holder); // the limit may pass in this call
    for (const end = performance.now() + 5; performance.now() < end;);
    const loss = first.release(holder);
    // The backend may have taken it before, and have said so.
    expect([...holder.notices, `lost: ${loss}`]).toContain('lost: expired');
    expect(await typesOf(watch)).toEqual(['granted', 'expired']);
    watch.close();
  });

  test('read() gives no more than it is asked for, and the rest the next time', async () => {
    const watch = first.watch('a');
    for (let i = 0; i < 3; i += 1) first.release(makeRequest(first, GRANTED, 'a'));
    const counts = [];
    for (const max of [2, 3, MAX]) counts.push((await watch.read(max)).length);
    expect(counts).toEqual([2, 3, 1]);
    watch.close();
  });

  test('read() waits until there is something', async () => {
    const watch = first.watch('a');
    const types = typesOf(watch);
    await new Promise((resolve) => setTimeout(resolve, 50)); // longer than one look
    makeRequest(second, GRANTED, 'b');
    makeRequest(second, GRANTED, 'a');
    expect(await types).toEqual(['granted']);
    watch.close();
  });

  test('close() of a watch ends a read that waits, and every later one', async () => {
    const watch = first.watch(undefined);
    const read = watch.read(MAX);
    watch.close();
    makeRequest(first, GRANTED, 'a');
    expect(await read).toEqual([]);
    expect(await watch.read(MAX)).toEqual([]);
    watch.close();
  });

  test('close() of the agent ends its watches, not the watches of others', async () => {
    const [watch, other] = [first.watch(undefined), second.watch(undefined)];
    const holder = makeRequest(first, GRANTED, 'a');
    const read = watch.read(MAX);
    await read;
    const waiting = watch.read(MAX);
    first.close();
    expect(await waiting).toEqual([]);
    expect(holder.notices).toEqual(['lost: disconnected']);
    expect(await typesOf(other)).toEqual(['granted', 'released']);
    expect(() => first.watch('a')).toThrow(expect.objectContaining({ name: 'InvalidStateError' }));
    other.close();
  });

  test('isLocked() counts holders, an exclusive one for all', () => {
    const states = () => [1, 2, 3].map((min) => second.isLocked('a', min));
    expect(states()).toEqual([false, false, false]);
    const shared = [first, second].map((agent) => [
      agent,
      makeRequest(agent, GRANTED, 'a', { mode: 'shared' }),
    ]);
    expect(states()).toEqual([true, true, false]);
    for (const [agent, request] of shared) agent.release(request);
    makeRequest(first, GRANTED, 'a');
    expect(states()).toEqual([true, true, true]);
  });
}

module.exports = { testBackendWatch };
