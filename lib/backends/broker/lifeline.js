'use strict';

const fs = require('node:fs');
const net = require('node:net');
const path = require('node:path');
const { inContextAtLoad, setTimeout } = require('../../time.js');
const { ageOf, namesIn, removeFile, SOCKET_NAME } = require('./broker-files.js');
const { outside } = require('../outside.js');

/** @typedef {import('./broker-files.js').BrokerFiles} BrokerFiles */

/**
 * The folder of lifelines names every client that may hold a lock. The socket itself is `s<id>`. A
 * file `at-<id>` names a socket that cannot be there, because its path would be too long or because
 * sockets are no files here. Either appears when the socket listens. So a refused connection proves
 * that the client listens no more. A shared directory has no pointers: a member of the group could
 * let another member's broker remove a file elsewhere.
 */

const LIFELINE_POINTER_NAME = /^at-[0-9a-z-]+$/;
const LIFELINE_DRAFT_NAME = /^d[0-9a-f]{16}$/;
/** A socket that has not got its name by then never gets it: its client makes another one. */
const MAX_DRAFT_AGE_MS = 60_000;

/**
 * @param {BrokerFiles} files
 * @param {string} socket
 */
const pointerTo = (files, socket) =>
  path.join(files.lifelinesFolder, `at-${/** @type {string} */ (socket.split(/[/\\]/).pop())}`);

/**
 * The path at which a new lifeline has to listen, and the function that makes it known afterwards.
 * @param {BrokerFiles} files
 * @returns {{ name: string, listenAt: string, publish: () => void }} the name is for lifelinePath()
 */
function newLifeline(files) {
  const socket = files.newSocketName(files.lifelinesFolder);
  if (path.dirname(socket) === files.lifelinesFolder) {
    const name = path.basename(socket);
    const listenAt = path.join(files.lifelinesFolder, `d${name.slice(1)}`);
    return { name, listenAt, publish: () => fs.renameSync(listenAt, socket) };
  }
  const publish = () => files.writeNew(pointerTo(files, socket), socket);
  return { name: socket, listenAt: socket, publish };
}

/**
 * @param {BrokerFiles} files
 * @returns {string[]} the names of the lifelines of all clients, dead ones included
 */
function listLifelines(files) {
  return namesIn(files.lifelinesFolder).flatMap((name) => {
    if (SOCKET_NAME.test(name)) return [name];
    if (files.isShared || !LIFELINE_POINTER_NAME.test(name)) return [];
    const file = path.join(files.lifelinesFolder, name);
    // A client that has not written it to its end has not yet spoken to a broker.
    const socket = readPointer(file);
    return socket !== '' && pointerTo(files, socket) === file ? [socket] : [];
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
 * @param {BrokerFiles} files
 * @param {string} name  of a lifeline on which no client listens any more
 */
function removeLifeline(files, name) {
  if (SOCKET_NAME.test(name)) return removeFile(files.lifelinePath(name));
  if (files.isShared) return;
  const pointer = pointerTo(files, name);
  if (readPointer(pointer) !== name) return;
  if (files.hasSocketFiles) removeFile(name);
  removeFile(pointer);
}

/** @param {BrokerFiles} files */
function removeOldDrafts(files) {
  for (const name of namesIn(files.lifelinesFolder)) {
    const file = path.join(files.lifelinesFolder, name);
    if (LIFELINE_DRAFT_NAME.test(name) && ageOf(file) > MAX_DRAFT_AGE_MS) removeFile(file);
  }
}

const IS_DENO = process.versions.deno !== undefined;
const RETRY_MS = 100;

/**
 * Listens on a socket of Deno's own API. The listening sockets of its `node:net` are inherited by
 * every program that a client starts (2.9.6). Such a program would keep the socket of a client that
 * has died, which then seems to live.
 */
class DenoServer {
  /** @type {any} of Deno */
  #listener = undefined;
  #isClosed = false;
  #sockets = new Set();

  /**
   * @param {string} socketPath
   * @param {() => void} onPoll
   */
  constructor(socketPath, onPoll) {
    const { Deno } = /** @type {any} */ (globalThis);
    try {
      this.#listener = Deno.listen({ transport: 'unix', path: socketPath });
    } catch {
      this.#isClosed = true; // publish() finds no socket
      return;
    }
    this.#listener.unref();
    void this.#accept(onPoll);
  }

  /** @param {() => void} onPoll */
  async #accept(onPoll) {
    while (!this.#isClosed) {
      try {
        void this.#read(await this.#listener.accept(), onPoll);
      } catch {
        // It is closed, or descriptors are short: the kernel accepts meanwhile.
        await new Promise((resolve) => setTimeout(resolve, RETRY_MS).unref());
      }
    }
  }

  /**
   * @param {any} socket
   * @param {() => void} onPoll
   */
  async #read(socket, onPoll) {
    this.#sockets.add(socket);
    socket.unref();
    const buffer = new Uint8Array(64);
    try {
      while ((await socket.read(buffer)) !== null) onPoll();
    } catch {
      // The broker has ended.
    }
    if (this.#sockets.delete(socket)) socket.close();
  }

  close() {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#listener.close();
    for (const socket of this.#sockets) socket.close();
    this.#sockets.clear();
  }
}

/**
 * A socket that listens until this is closed or collected, or the thread ends. A broker that starts
 * while the thread is blocked or stopped connects to it: the kernel accepts, and reports the end.
 */
class Lifeline {
  name;
  #files;
  #server;
  #onPoll;
  /** @type {Map<net.Socket, () => unknown>} and the call of each when it closes */
  #brokers = new Map();
  #onBroker = (/** @type {net.Socket} */ socket) => {
    const { ignore: nothing, onCollected, weakly } = outside();
    const onClose = () => this.#brokers.delete(socket);
    this.#brokers.set(socket, onClose);
    socket.unref();
    onCollected(onClose, socket, 'destroy');
    socket.on('error', nothing); // the socket is destroyed
    socket.on('close', weakly(onClose));
    socket.on('data', weakly(this.#onPoll));
  };

  /**
   * @param {BrokerFiles} files
   * @param {() => void} onPoll  called when a broker needs the state of this client
   * @throws DOMException when it cannot listen: then nothing would show that this thread lives
   */
  constructor(files, onPoll) {
    this.#files = files;
    const { name, listenAt, publish } = newLifeline(files);
    this.name = name;
    this.#onPoll = onPoll;
    this.#server = inContextAtLoad(() => this.#listen(listenAt));
    outside().onCollected(this, this.#server, 'close');
    try {
      files.setSocketMode(listenAt);
      publish();
    } catch (error) {
      this.close();
      throw error instanceof DOMException ? error : notMade(files.lifelinesFolder, error);
    }
  }

  /** @param {string} socketPath */
  #listen(socketPath) {
    if (IS_DENO && this.#files.hasSocketFiles) {
      return new DenoServer(socketPath, outside().weakly(this.#onPoll));
    }
    const server = net.createServer(outside().weakly(this.#onBroker, outside().destroy));
    server.on('error', outside().ignore); // publish() finds no socket
    // It listens when this returns. Not by way of the primary process of a cluster.
    server.listen({ path: socketPath, exclusive: true });
    return server.unref();
  }

  close() {
    this.#server.close();
    for (const socket of this.#brokers.keys()) socket.destroy();
    try {
      removeLifeline(this.#files, this.name);
    } catch {
      // As of the user that this process was before: the next broker removes it.
    }
  }
}

/**
 * @param {string} folder
 * @param {unknown} cause
 */
function notMade(folder, cause) {
  const { message } = /** @type {Error} */ (cause);
  const why = `no room for a socket in ${folder}, or too many open files (${message})`;
  return new DOMException(`The client cannot show that it lives: ${why}`, 'QuotaExceededError');
}

module.exports = { Lifeline, listLifelines, removeLifeline, removeOldDrafts };
