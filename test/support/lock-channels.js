'use strict';

const diagnostics = require('node:diagnostics_channel');

const KINDS = ['start', 'grant', 'miss', 'end', 'lost'];

/**
 * Runs `body` and gives what the channels of lock requests published about `name` in the meantime,
 * as [kind, message] in order; `body` gets the array to add to it.
 */
async function recordChannels(name, body) {
  const messages = [];
  const listeners = KINDS.map((kind) => [
    `locks.request.${kind}`,
    (message) => {
      if (message.name === name) messages.push([kind, message]);
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

module.exports = { recordChannels };
