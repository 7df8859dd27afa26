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
 * because sockets are no files here. Either appears when the socket listens. So nobody listens on
 * one that refuses a connection any more.
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
 * @param {BrokerFiles} place
 * @param {string} socket
 */
const isInFolder = (place, socket) => path.dirname(socket) === place.lifelinesFolder;

/**
 * Where a new lifeline is to listen, and what makes it known once it does.
 * @param {BrokerFiles} place
 * @returns {{ name: string, listenAt: string, publish: () => void }}
 */
function newLifeline(place) {
  const name = place.newSocketName(place.lifelinesFolder);
  if (isInFolder(place, name)) {
    const listenAt = path.join(place.lifelinesFolder, `d${path.basename(name).slice(1)}`);
    return { name, listenAt, publish: () => fs.renameSync(listenAt, name) };
  }
  const publish = () => fs.writeFileSync(pointerTo(place, name), name, { mode: PRIVATE_FILE });
  return { name, listenAt: name, publish };
}

/**
 * @param {BrokerFiles} place
 * @returns {string[]} the sockets of all clients that have a lifeline, dead ones included
 */
function listLifelines(place) {
  return namesIn(place.lifelinesFolder).flatMap((name) => {
    const file = path.join(place.lifelinesFolder, name);
    if (SOCKET_NAME.test(name)) return [file];
    if (!POINTER_NAME.test(name)) return [];
    // Whoever has not written it to its end has not yet spoken to a broker.
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
 * @param {string} socket  that nobody listens on any more, as its client named it
 */
function removeLifeline(place, socket) {
  if (isInFolder(place, socket) && SOCKET_NAME.test(path.basename(socket))) removeFile(socket);
  const pointer = pointerTo(place, socket);
  if (isInFolder(place, socket) || readPointer(pointer) !== socket) return;
  if (place.hasSocketFiles) removeFile(socket);
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
