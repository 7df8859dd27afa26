'use strict';

const { EventEmitter } = require('node:events');
const { ClientConnection } = require('../../lib/backends/broker/server/client-connection.js');

test('a grant that the journal does not have yet does not leave with a sign of life', () => {
  const written = [];
  const socket = Object.assign(new EventEmitter(), { write: (text) => written.push(text) });
  const connection = new ClientConnection({ toFlush() {} }, socket);
  written.splice(0); // the greeting
  connection.send(['g', 1, 2, 3]);
  connection.sendNow(['.']);
  expect(written).toEqual(['["."]\n']);
  connection.flush();
  expect(written).toEqual(['["."]\n', '["g",1,2,3]\n']);
});
