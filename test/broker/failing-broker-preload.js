'use strict';

// Preloaded by a broker: it ends as soon as it has welcomed a client.

const { Socket } = require('node:net');

const { write } = Socket.prototype;
Socket.prototype.write = function (text, ...rest) {
  const result = write.call(this, text, ...rest);
  if (String(text).startsWith('["welcome"')) {
    setImmediate(() => {
      throw new Error('it fails after each welcome');
    });
  }
  return result;
};
