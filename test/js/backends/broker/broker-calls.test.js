'use strict';

const { BrokerCalls } = require('../../../../lib/backends/broker/broker-calls.js');
const { LoopKeepAlive } = require('../../../../lib/loop-keep-alive.js');

test('a new broker receives a watch before a read of it, also a watch that waited longer', () => {
  const sent = [];
  const link = { now: () => 0, send: ([, , what]) => sent.push(what) };
  const calls = new BrokerCalls(link, new LoopKeepAlive());
  calls.ask('readWatch', [1, 64], false);
  calls.ask('watch', [1, null], false); // again, for the broker that came next and died, too
  calls.ask('closeWatch', [1], false);
  sent.length = 0;
  calls.repeat();
  expect(sent).toEqual(['watch', 'readWatch', 'closeWatch']);
});
