'use strict';

const { readlinkSync } = require('node:fs');
const { BrokerFiles } = require('../../lib/backends/broker/broker-files.js');
const { killBroker } = require('../support/broker-process.js');
const { NAMESPACES, describeInside } = require('../support/namespaces.js');
const { ProcessBucket } = require('../support/process-bucket.js');

// A broker with another clock than the broker before: its journal has times of the old clock.
let bucket;
let files;
beforeEach(() => {
  bucket = new ProcessBucket({ backend: 'broker' });
  files = new BrokerFiles('process', bucket.directory);
});
afterEach(() => bucket.close());

const LONG = { holdLimit: 600_000 };
const SHORT = { holdLimit: 1000 };
const EXPIRED = { status: 'rejected', reason: { name: 'LockLostError', reason: 'expired' } };

const clockOf = (pid) => readlinkSync(`/proc/${pid}/ns/time`);
const clockOfBroker = () => clockOf(files.readEpoch(files.highestEpoch()).pid);

describe.each(['time, forward', 'time, back'])('a broker in a separate namespace: %s', (kind) => {
  const inside = NAMESPACES[kind];

  describeInside(inside, 'and the one after it outside', () => {
    test('count a hold limit from the grant', async () => {
      const starter = await bucket.open('process', { inside });
      expect(clockOfBroker()).not.toBe(clockOf('self'));
      const holder = await bucket.open('process');
      const held = await holder.hold('a', LONG);
      const short = await holder.hold('b', SHORT);
      const waiting = await Promise.all(['a', 'b'].map((name) => holder.request(name)));
      await starter.end();
      killBroker(files);
      await waiting[1].granted;
      expect(await short.settled).toMatchObject(EXPIRED);
      expect(await held.release('kept')).toEqual({ status: 'fulfilled', value: 'kept' });
      expect(clockOfBroker()).toBe(clockOf('self')); // that has answered
      await waiting[0].granted;
    });
  });
});
