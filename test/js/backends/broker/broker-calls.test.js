'use strict';

const { BrokerCalls } = require('../../../../lib/backends/broker/broker-calls.js');
const { LoopKeepAlive } = require('../../../../lib/loop-keep-alive.js');

test('a new broker receives the calls in the order in which they were made', () => {
  const link = { send: () => {}, toBrokerTime: (t) => t };
  const calls = new BrokerCalls(link, new LoopKeepAlive());
  calls.ask('readWatch', [1, 64], false, 2);
  calls.ask('closeWatch', [1], false, 3);
  calls.ask('watch', [1, null], false, 1); // again, for the broker that came next
  const sent = calls.messages((t) => t + 100).map(([, , what, t]) => [what, t]);
  expect(sent).toEqual([
    ['watch', 101],
    ['readWatch', 102],
    ['closeWatch', 103],
  ]);
});
