'use strict';

const fs = require('node:fs');
const path = require('node:path');
const { dateNow } = require('../../time.js');
const { namesIn } = require('./broker-files.js');
const { removeFile } = require('./remove-file.js');

/** @typedef {import('./broker-files.js').BrokerFiles} BrokerFiles */

/**
 * The folder of lifelines names every client that may hold a lock: `s<id>` is the socket itself,
 * `at-<id>` a file that names a socket which cannot be there, because its path would be too long or
 * because sockets are no files here. Either appears when the socket listens. So a refused
 * connection proves that the client listens no more.
 */

const SOCKET_NAME = /^s[0-9a-f]{16}$/;
const POINTER_NAME = /^at-[0-9a-z-]+$/;
const DRAFT_NAME = /^d[0-9a-f]{16}$/;
const PRIVATE_FILE = 0o600;
/** A socket that has not got its name by then never gets it: its client makes another one. */
const MAX_DRAFT_AGE_MS = 60_000;

/**
 * @param {BrokerFiles} place
 * @param {string} socket
 */
const pointerTo = (place, socket) =>
  path.join(place.lifelinesFolder, `at-${/** @type {string} */ (socket.split(/[/\\]/).pop())}`);

/**
 * The path at which a new lifeline has to listen, and the function that makes it known afterwards.
 * @param {BrokerFiles} place
 * @returns {{ name: string, listenAt: string, publish: () => void }} the name is for lifelinePath()
 */
function newLifeline(place) {
  const socket = place.newSocketName(place.lifelinesFolder);
  if (path.dirname(socket) === place.lifelinesFolder) {
    const name = path.basename(socket);
    const listenAt = path.join(place.lifelinesFolder, `d${name.slice(1)}`);
    return { name, listenAt, publish: () => fs.renameSync(listenAt, socket) };
  }
  const publish = () => fs.writeFileSync(pointerTo(place, socket), socket, { mode: PRIVATE_FILE });
  return { name: socket, listenAt: socket, publish };
}

/**
 * @param {BrokerFiles} place
 * @returns {string[]} the names of the lifelines of all clients, dead ones included
 */
function listLifelines(place) {
  return namesIn(place.lifelinesFolder).flatMap((name) => {
    if (SOCKET_NAME.test(name)) return [name];
    if (!POINTER_NAME.test(name)) return [];
    const file = path.join(place.lifelinesFolder, name);
    // A client that has not written it to its end has not yet spoken to a broker.
    const socket = readPointer(file);
    return socket !== '' && pointerTo(place, socket) === file ? [socket] : [];
  });
}

/** @param {string} file */
function readPointer(file) {
  try {
    return fs.readFileSync(file, 'utf8');
  } catch (error) {
    if (/** @type {any} */ (error).code === 'ENOENT') return ''; // its client has ended meanwhile
    throw error;
  }
}

/**
 * @param {BrokerFiles} place
 * @param {string} name  of a lifeline on which no client listens any more
 */
function removeLifeline(place, name) {
  if (SOCKET_NAME.test(name)) return removeFile(place.lifelinePath(name));
  const pointer = pointerTo(place, name);
  if (readPointer(pointer) !== name) return;
  if (place.hasSocketFiles) removeFile(name);
  removeFile(pointer);
}

/** @param {BrokerFiles} place */
function removeOldDrafts(place) {
  for (const name of namesIn(place.lifelinesFolder)) {
    const file = path.join(place.lifelinesFolder, name);
    if (DRAFT_NAME.test(name) && ageOf(file) > MAX_DRAFT_AGE_MS) removeFile(file);
  }
}

/** @param {string} file */
function ageOf(file) {
  const stat = fs.statSync(file, { throwIfNoEntry: false });
  return stat === undefined ? 0 : dateNow() - stat.mtimeMs;
}

module.exports = { listLifelines, newLifeline, removeLifeline, removeOldDrafts };
