'use strict';

const assert = require('node:assert/strict');
const diagnostics = require('node:diagnostics_channel');

const KINDS = ['start', 'grant', 'miss', 'end', 'lost'];

/**
 * Runs `body` and gives what the channels of lock requests published about `name` in the meantime,
 * as [kind, message] in order, each message as it was then; `body` gets the array to add to it.
 */
async function recordChannels(name, body) {
  const messages = [];
  const listeners = KINDS.map((kind) => [
    `locks.request.${kind}`,
    (message) => {
      const { token } = message; // not enumerable
      if (message.name === name) messages.push([kind, { ...message, token }, message]);
    },
  ]);
  for (const [channel, listener] of listeners) diagnostics.subscribe(channel, listener);
  try {
    await body(messages);
  } finally {
    for (const [channel, listener] of listeners) diagnostics.unsubscribe(channel, listener);
  }
  return messages;
}

/** The message has these members, whatever else it has. */
function assertHas(message, members) {
  for (const [name, value] of Object.entries(members)) {
    assert.deepEqual(message[name], value, name);
  }
}

module.exports = { assertHas, recordChannels };
