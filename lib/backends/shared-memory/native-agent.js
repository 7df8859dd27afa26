'use strict';

const path = require('node:path');
const { defaultDirectory, toBucketName } = require('./bucket-place.js');

/**
 * @typedef {object} AgentOptions  what the native part opens an agent with
 * @property {string} bucket
 * @property {number} capacity  in bytes
 * @property {boolean} asksForCapacity  or else: any will do
 * @property {string} clientId
 * @property {string} directory  that the bucket is in
 * @property {boolean} sweeps
 * @property {number} threadId
 */

/**
 * @param {any} native  the addon
 * @param {string} clientId
 * @param {{ bucket?: string, directory?: string, capacity?: number, sweeps?: boolean }} options
 * @returns {AgentOptions}
 */
function toAgentOptions(native, clientId, { bucket, directory, capacity, sweeps }) {
  return {
    bucket: toBucketName(bucket ?? 'default'),
    capacity: capacity ?? native.DEFAULT_CAPACITY,
    asksForCapacity: capacity !== undefined,
    clientId,
    directory: path.resolve(directory ?? defaultDirectory()),
    sweeps: sweeps ?? true,
    // node:worker_threads takes longer to load than the first lock does; a worker has it anyway.
    threadId: native.isMainThread ? 0 : require('node:worker_threads').threadId,
  };
}

/**
 * @param {any} native
 * @param {AgentOptions} options
 * @param {Int32Array} words  where it puts tokens and events
 * @param {() => void} onEvents
 * @returns {any} the native agent
 * @throws DOMException when the bucket cannot be opened, with what to do about it
 */
function openAgent(native, options, words, onEvents) {
  try {
    const agent = native.openAgent(options, new Uint32Array(words.buffer), onEvents);
    warnOfOtherCapacity(agent, options);
    return agent;
  } catch (error) {
    const { name, message, code } = /** @type {any} */ (error);
    const place = path.join(options.directory, options.bucket);
    throw toError({ name, message: `${message}: ${place}`, code });
  }
}

/**
 * A bucket that is there already keeps its capacity: to refuse it would keep a program that is
 * deployed with another one from locking beside its predecessor.
 * @param {any} agent  native
 * @param {AgentOptions} options
 */
function warnOfOtherCapacity(agent, { bucket, directory, asksForCapacity, capacity: asked }) {
  if (!asksForCapacity) return;
  const [capacity] = agent.usage();
  if (capacity === asked) return;
  process.emitWarning(
    `The lock table of the bucket '${bucket}' in ${directory} was made with a capacity of ` +
      `${capacity} bytes and keeps it; ${asked} were asked for. To change it, end all processes ` +
      'that use the bucket and remove its folder.',
    { type: 'HoldfastWarning', code: 'HOLDFAST_CAPACITY' },
  );
}

/**
 * Says which bucket it is, whatever links lead to its directory.
 * @param {AgentOptions} options  of an agent that is open
 */
function placeOf({ bucket, directory }) {
  const { realpathSync } = require('node:fs');
  return path.join(realpathSync(directory), bucket);
}

/** @param {{ name: string, message: string, code: string }} error  of the native part */
function toError({ name, message, code }) {
  if (name === 'TypeError') return new TypeError(message);
  return Object.assign(new DOMException(message, name), { reason: code });
}

module.exports = { openAgent, placeOf, toAgentOptions, toError };
