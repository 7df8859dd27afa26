'use strict';

// The libraries that holdfast is compared with: one file each, all with the same few functions.

const path = require('node:path');

/**
 * @typedef {object} PeerSetup where a lock is to be had
 * @property {string} directory
 * @property {string} name
 * @property {number} party counts from 0
 * @property {number} parties in all
 * @property {SharedArrayBuffer} [buffer] of the threads of one process
 */

/**
 * @typedef {object} Opened
 * @property {<T>(section: () => T) => Promise<Awaited<T>>} run holds the lock while `section` runs
 * @property {<T>(name: string, section: () => T) => Promise<Awaited<T>>} [runNamed] the same, of
 *   any name
 * @property {() => unknown} [close]
 */

/**
 * @typedef {object} Peer
 * @property {(setup: PeerSetup) => Opened | Promise<Opened>} open
 * @property {(directory: string) => unknown} [serve] starts what all parties need
 * @property {() => string | undefined} [whyNot] why it cannot run here
 * @property {boolean} [passesTurns] a party can run only after another one, so not before the start
 * @property {number} [instances] how many of it a party opens that asks for a lock while it has it
 */

/**
 * @param {string} name of a file of this folder
 * @returns {Peer}
 */
const loadPeer = (name) => require(path.join(__dirname, `${name}.js`));

module.exports = { loadPeer };
