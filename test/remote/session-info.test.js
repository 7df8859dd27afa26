'use strict';

const { readlinkSync } = require('node:fs');
const { hostname } = require('node:os');
const { fromSessionInfo, toSessionInfo } = require('../../lib/backends/remote/session-info.js');

const OWN = { clientId: 'c', pid: 7, threadId: 1, host: hostname() };
const roundTrip = (info) => toSessionInfo(fromSessionInfo({ ...OWN, ...info }));

test('a session says of which process it is', () => {
  expect(roundTrip({ pidNamespace: readlinkSync('/proc/self/ns/pid') })).toEqual(OWN);
  expect(roundTrip({ pidNamespace: '' })).toEqual(OWN); // where there are none
  expect(roundTrip({ pidNamespace: undefined })).toEqual(OWN); // of an earlier version
});

test('a holder in a container that has the name of this machine is shown without its number', () => {
  expect(roundTrip({ pidNamespace: 'pid:[1]' })).toEqual({ ...OWN, pid: 0 });
});

test('one of another machine keeps the number that it has there', () => {
  const there = { host: 'web-2', pidNamespace: 'pid:[1]' };
  expect(roundTrip(there)).toEqual({ ...OWN, host: 'web-2' });
});
