'use strict';

const { LoopKeepAlive } = require('../../lib/loop-keep-alive.js');
const { RequestTable } = require('../../lib/backends/remote/request-table.js');
const { RecordedRequest } = require('../support/recorded-request.js');

let requests;
beforeEach(() => {
  requests = new RequestTable(
    new LoopKeepAlive(),
    undefined,
    () => false,
    () => {},
  );
});

test('a lock that is lost before its grant has arrived is reported with its token', () => {
  const request = new RecordedRequest('a');
  const number = requests.add(request);
  requests.onMessage({ type: 'lost', number, reason: 'stolen', token: (7n << 32n) | 9n });
  expect(request.notices).toEqual(['lost: stolen']);
  expect([request.tokenHigh, request.tokenLow]).toEqual([7, 9]);
  expect(requests.isEmpty).toBe(true);
});

test('waiting requests are rejected with the error of their failed server', () => {
  const error = new DOMException('no server', 'InvalidStateError');
  const request = new RecordedRequest('a');
  let rejection;
  request.failed = (reason) => (rejection = reason);
  requests.add(request);
  requests.loseAll(error, (message) => requests.onMessage(message));
  expect([rejection.name, rejection.message]).toEqual([error.name, error.message]);
});
