'use strict';

const fs = require('node:fs');
const net = require('node:net');
const { tmpdir } = require('node:os');
const path = require('node:path');

// The clock goes on while a thread is stopped, or busy. It is set before the modules take it.
const HOUR_NS = 3_600_000_000_000n;
const realNow = process.hrtime.bigint;
let stoppedNs = 0n;
process.hrtime.bigint = () => realNow() + stoppedNs;
const { BrokerBackend } = require('../../../../lib/backends/broker/backend.js');
const { BrokerFiles } = require('../../../../lib/backends/broker/broker-files.js');
const { openLockManager } = require('../../../../lib/index.js');

test('a thread that is stopped while it looks for a broker goes on looking', async () => {
  const directory = fs.mkdtempSync(path.join(tmpdir(), 'holdfast-'));
  const place = new BrokerFiles('default', directory);
  place.ensure();
  const socket = place.newSocketName(place.claimsFolder);
  place.makeClaim({ number: 1, socket, key: 'of a broker that has died', pid: 0 });
  const { connect } = net;
  net.connect = (...args) => {
    stoppedNs += HOUR_NS;
    net.connect = connect;
    return connect(...args);
  };
  const locks = openLockManager({ backend: new BrokerBackend({ directory }) });
  expect(await locks.request('a', () => 'granted')).toBe('granted');
  expect(stoppedNs).toBe(HOUR_NS);
  locks.close();
  fs.rmSync(directory, { recursive: true, force: true });
});
