'use strict';

const { existsSync, lstatSync, readdirSync, readFileSync, statSync } = require('node:fs');
const path = require('node:path');
const { defaultDirectory, toBucketName } = require('../bucket-directory.js');
const { IF_AVAILABLE, SHARED, STEAL } = require('./native-constants.js');

/** @typedef {import('../../../types/backend.d.ts').LockBackendRequest} Request */

/** Processes that an error names, and how much of their command lines. */
const MAX_NAMED = 5;
const MAX_COMMAND = 80;

/**
 * @typedef {object} AgentOptions  the native part's options for an agent
 * @property {string} bucket
 * @property {number} capacity  in bytes
 * @property {boolean} asksForCapacity  false: any capacity is accepted
 * @property {string} clientId
 * @property {string} directory  of the bucket
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
 * Node-API makes an object with so many methods as a dictionary, in which every call looks its
 * method up. As the prototype of another one it becomes a fast object once it is used often.
 * @param {any} native
 * @param {AgentOptions} options
 * @param {Int32Array} words  the native part writes tokens and events here
 * @param {() => void} onEvents
 * @returns {any} the native agent
 * @throws DOMException when the bucket cannot be opened, with what to do about it
 */
function openAgent(native, options, words, onEvents) {
  try {
    const agent = native.openAgent(options, new Uint32Array(words.buffer), onEvents);
    warnOfOtherCapacity(agent, options);
    return Object.create(agent);
  } catch (error) {
    const { name, message, code } = /** @type {any} */ (error);
    const more = code === 'VERSION_MISMATCH' ? usersText(options) : otherPlaceText(options);
    throw toError({ name, message: `${message}: ${placeToName(options)}${more}`, code });
  }
}

/**
 * The path that an error names: the folder of the bucket, or the directory that is to contain the
 * folder if the directory is not private.
 * @param {AgentOptions} options
 */
function placeToName({ directory, bucket }) {
  try {
    const found = lstatSync(directory);
    const isOwn = found.isDirectory() && found.uid === process.geteuid?.();
    return isOwn && (found.mode & 0o777) === 0o700 ? path.join(directory, bucket) : directory;
  } catch {
    return directory;
  }
}

/**
 * An existing bucket keeps its capacity. Refusing it would stop a new release of a program,
 * deployed with another capacity, from sharing locks with the old one.
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
 * Returns the bucket's real path, with links resolved.
 * @param {AgentOptions} options  of an agent that is open
 */
function placeOf({ bucket, directory }) {
  const { realpathSync } = require('node:fs');
  return path.join(realpathSync(directory), bucket);
}

/** @param {AgentOptions} options */
const segmentOf = ({ directory, bucket }) => path.join(directory, bucket, 'segment');

/**
 * The advice if the directory of buckets cannot be made, as on a machine without /dev/shm.
 * @param {AgentOptions} options
 */
function otherPlaceText({ directory }) {
  if (existsSync(path.dirname(directory))) return '';
  return '; or set HOLDFAST_DIR to a directory inside of one that exists, such as /tmp/holdfast';
}

/**
 * The processes that have mapped a lock table, as far as this process may see them.
 * @param {AgentOptions} options
 */
function usersText(options) {
  const isUser = (/** @type {string} */ pid, /** @type {RegExp} */ line) => {
    try {
      return pid !== String(process.pid) && line.test(readFileSync(`/proc/${pid}/maps`, 'utf8'));
    } catch {
      return false; // it has ended, or belongs to another user
    }
  };
  try {
    const line = new RegExp(` ${statSync(segmentOf(options)).ino} +/.*/segment$`, 'm');
    const users = readdirSync('/proc').filter((name) => /^\d+$/.test(name) && isUser(name, line));
    if (users.length === 0) return '; none of them is visible here: see in other containers';
    const named = users.slice(0, MAX_NAMED).map((pid) => {
      const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
      return `${pid} (${words.join(' ').trim().slice(0, MAX_COMMAND)})`;
    });
    const more = users.length - named.length;
    return `; used by process ${named.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
  } catch {
    return ''; // no /proc
  }
}

/**
 * The error of an agent's last call.
 * @param {any} agent  native
 * @param {AgentOptions} options
 */
function lastErrorOf(agent, options) {
  const error = agent.lastError();
  if (error.code !== 'NO_SPACE') return toError(error);
  return toError({ ...error, message: `${error.message}: ${options.directory}` });
}

/** @param {{ name: string, message: string, code: string }} error  of the native part */
function toError({ name, message, code }) {
  if (name === 'TypeError') return new TypeError(message);
  return Object.assign(new DOMException(message, name), { reason: code });
}

/**
 * Whether these are the extras of any request in a callback, and nothing more.
 * @param {import('../../../types/backend.d.ts').LockRequestExtras} extras
 */
const isOnlyInside = ({ limit, holdLimit, label, callSite }) =>
  limit === 0 && holdLimit === 0 && label === '' && callSite === '';

/**
 * Passes requests to the native part: as numbers, and strings only if the native part does not have
 * them yet.
 */
class RequestCaller {
  /** The last name that was passed alone; the native agent remembers it, too. Empty at first. */
  #lastName = '';

  /** To be called before the first call of another native agent. */
  reset() {
    this.#lastName = '';
  }

  /**
   * @param {any} agent  native
   * @param {Request} request
   * @returns {number} id << OUTCOME_BITS | outcome, or -1: see agent.lastError()
   */
  call(agent, request) {
    let flags = 0;
    if (request.mode === 'shared') flags |= SHARED;
    if (request.ifAvailable) flags |= IF_AVAILABLE;
    if (request.steal) flags |= STEAL;
    const { name, extras } = request;
    if (extras === undefined) return this.#callPlain(agent, name, flags);
    if (isOnlyInside(extras)) return this.#callInside(agent, name, flags, extras.enclosing);
    return agent.requestWithExtras(
      name,
      flags,
      extras.limit,
      extras.holdLimit,
      extras.label,
      extras.enclosing?.tokenHigh ?? 0,
      extras.enclosing?.tokenLow ?? 0,
      extras.callSite,
    );
  }

  /**
   * Passing a string costs as much as taking a free lock word.
   * @param {any} agent
   * @param {string} name
   * @param {number} flags
   * @returns {number}
   */
  #callPlain(agent, name, flags) {
    if (name === this.#lastName) return agent.requestAgain(flags);
    const answer = agent.request(name, flags);
    this.#lastName = name; // not before: at the end of the stack the call throws
    return answer;
  }

  /**
   * @param {any} agent
   * @param {string} name
   * @param {number} flags
   * @param {import('../../../types/backend.d.ts').EnclosingLock | undefined} enclosing
   * @returns {number}
   */
  #callInside(agent, name, flags, enclosing) {
    const high = enclosing?.tokenHigh ?? 0;
    const low = enclosing?.tokenLow ?? 0;
    if (name === this.#lastName) return agent.requestInsideAgain(flags, high, low);
    const answer = agent.requestInside(name, flags, high, low);
    this.#lastName = name;
    return answer;
  }
}

module.exports = { RequestCaller, lastErrorOf, openAgent, placeOf, toAgentOptions };
