'use strict';

// Processes that a scenario starts beside the measuring process.

const { fork } = require('node:child_process');
const { once } = require('node:events');
const path = require('node:path');

const FOLDER = path.join(__dirname, '..', 'programs');

/**
 * Starts a program of bench/programs; resolves once it has sent its first message.
 * @param {string} name
 * @param {string[]} args
 */
async function startProgram(name, args) {
  const child = fork(path.join(FOLDER, `${name}.js`), args, { serialization: 'advanced' });
  const ended = once(child, 'exit');
  const first = await Promise.race([once(child, 'message').then(([value]) => value), ended]);
  if (Array.isArray(first)) throw new Error(`${name} ended with ${first[0] ?? first[1]}`);
  return {
    child,
    first,
    ended,
    /** @returns {Promise<any>} the answer */
    async call(message) {
      const answer = once(child, 'message');
      child.send(message);
      return (await answer)[0];
    },
    stop() {
      child.kill('SIGKILL');
      return ended;
    },
  };
}

module.exports = { startProgram };
