'use strict';

let mockCheck;
jest.mock('../../lib/time.js', () => {
  const time = jest.requireActual('../../lib/time.js');
  const setInterval = (callback, ms) => {
    if (ms !== 1000) return time.setInterval(callback, ms);
    mockCheck = callback;
    return { unref: () => undefined };
  };
  return { ...time, setInterval };
});

const { BrokerCalls } = require('../../lib/backends/broker/backend.js');
const { LoopKeepAlive } = require('../../lib/loop-keep-alive.js');

test('a new broker receives the calls in the order in which they were made', () => {
  const link = { send: () => {}, toBrokerTime: (t) => t };
  const calls = new BrokerCalls(link, new LoopKeepAlive());
  calls.call('readWatch', [1, 64], false, 2);
  calls.call('closeWatch', [1], false, 3);
  calls.call('watch', [1, null], false, 1); // again, for the broker that came next
  const sent = calls.messages((t) => t + 100).map(([, , what, t]) => [what, t]);
  expect(sent).toEqual([
    ['watch', 101],
    ['readWatch', 102],
    ['closeWatch', 103],
  ]);
});

describe('with a silent broker', () => {
  let link;
  let calls;
  let ends;
  beforeEach(() => {
    link = { send: () => {}, toBrokerTime: (t) => t, isConnected: true };
    calls = new BrokerCalls(link, new LoopKeepAlive());
    ends = [];
    calls.call('snapshot', []).catch(({ name }) => ends.push(name));
    calls.call('readWatch', [1, 64], false).catch(({ name }) => ends.push(name));
  });
  afterEach(() => calls.failAll(new Error('the end of the test')));
  const checkTimes = async (count) => {
    for (let i = 0; i < count; i += 1) mockCheck();
    await null;
    return ends;
  };

  test('an awaited call fails after 30 s, a wait for events does not', async () => {
    expect(await checkTimes(30)).toEqual([]);
    expect(await checkTimes(40)).toEqual(['InvalidStateError']);
  });

  test('any message of the broker begins the time again', async () => {
    await checkTimes(30);
    calls.noteAnswer();
    expect(await checkTimes(31)).toEqual([]);
    expect(await checkTimes(1)).toEqual(['InvalidStateError']);
  });

  test('the time without a connection does not count', async () => {
    await checkTimes(30);
    link.isConnected = false;
    expect(await checkTimes(40)).toEqual([]);
    link.isConnected = true;
    expect(await checkTimes(30)).toEqual([]);
  });

  test('an answer that comes too late is dropped', async () => {
    await checkTimes(31);
    calls.receivePart(1, '', [1]);
    calls.receive(1, []);
    expect(await checkTimes(0)).toEqual(['InvalidStateError']);
  });
});
