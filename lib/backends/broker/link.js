'use strict';

const net = require('node:net');
const { spawn } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const { lazy } = require('../../lazy.js');
const { apply, clearTimeout, inContextAtLoad, setTimeout, then } = require('../../time.js');
const { invalidStateError } = require('../../errors.js');
const { BUILD, REPLACED, REPLACED_STATUS } = require('../../build-id.js');
const { packageFile } = require('../../package-files.js');
const { CLOCK_KIND, clockLead, machineNow } = require('./machine-clock.js');
const { ageOf, isShortage } = require('./broker-files.js');
const { outside } = require('../outside.js');
const { commandFor, isProcessThere, maxDescriptors, packedAs } = require('./platform.js');
const { isProof, LineReader, newNonce, proofOf, toLine, WIRE_VERSION } = require('./wire.js');

/** @typedef {(bytes: Buffer, length: number) => void} OnBytes  the first `length` of them count */

const { bun, deno } = process.versions;
const isNode = bun === undefined && deno === undefined;

const BUFFER_BYTES = 2 ** 16;
/** Of all connections of the thread: what one reading has brought is used before the next one. */
const sharedBuffer = lazy(() => Buffer.allocUnsafeSlow(BUFFER_BYTES));

/**
 * A client's end of a connection. On Node it reads without a readable stream and its buffers, which
 * saves a tenth of a round trip. Once it is open it refers to this weakly, and ends with it.
 */
class ClientSocket {
  socket;
  /** @type {OnBytes} */
  #onBytes = () => {};
  #onClose = () => {};
  #onRead = (/** @type {number} */ length, /** @type {Uint8Array} */ bytes) => {
    this.#onBytes(/** @type {Buffer} */ (bytes), length);
    return true; // continues to read
  };
  #onData = (/** @type {Buffer} */ bytes) => this.#onBytes(bytes, bytes.length);

  /** @param {string} address */
  constructor(address) {
    const onread = { buffer: sharedBuffer(), callback: outside().weakly(this.#onRead) };
    this.socket = inContextAtLoad(() =>
      isNode ? net.connect({ path: address, onread }) : net.connect(address),
    );
    this.socket.unref();
  }

  /**
   * To be called in the turn of the loop in which the connection came up, before anything is read.
   * @param {OnBytes} onBytes
   * @param {() => void} onClose
   */
  read(onBytes, onClose) {
    const { ignore, onCollected, weakly } = outside();
    this.#onBytes = onBytes;
    this.#onClose = onClose;
    if (!isNode) this.socket.on('data', weakly(this.#onData));
    this.socket.on('error', ignore); // the socket is destroyed, and closes
    this.socket.on('close', weakly(this.#onClose));
    onCollected(this, this.socket, 'end');
  }
}

/** @typedef {import('./broker-files.js').BrokerFiles} BrokerFiles */
/** @typedef {import('./broker-files.js').Epoch} Epoch */

/**
 * A connection, the epoch that it leads to, and when it was requested.
 * @typedef {{ connection: ClientSocket, epoch: Epoch, sentAt: number }} Found
 */

/** A broker without connections ends after this time. */
const IDLE_MS = 10_000;
/**
 * One of many clients starts a broker. Another client does after START_MS, or at once if the
 * starting process is gone. The latter has a limit: a broker that cannot run would be started
 * without end.
 */
const START_MS = 3000;
const MAX_QUICK_STARTS = 5;
const GIVE_UP_MS = 30_000;
const FIRST_PAUSE_MS = 2;
const MAX_PAUSE_MS = 50;
/** The same after a broker that has ended the connection before it served. */
const MAX_REJECTED_PAUSE_MS = 1000;
/** One look and its pause take no longer where the thread runs. */
const MAX_TRY_MS = 1000;
/** A file could be made, and not written. */
const FULL = ['ENOSPC', 'EDQUOT'];
const MAX_LOG_BYTES = 2 ** 16;

/** In the environment of a broker. Only an application that was started as one can read it here. */
const STARTED_AS_BROKER = 'HOLDFAST_STARTED_AS_BROKER';
/** Begins a mark that such an application writes for its starter; its path follows. */
const NO_BROKER = 'no broker: ';

const NO_INTERPRETER = lazy(() => ({ reason: packedAs() }));

/** @param {string} reason */
const noInterpreter = (reason) =>
  new DOMException(
    `No broker can be started: ${process.execPath} is a single-file program and no interpreter ` +
      `(${reason}). A broker that another program has started serves this one, too; HOLDFAST_URL ` +
      'or the option url names another backend',
    'NotSupportedError',
  );

/**
 * @param {Epoch} epoch
 * @returns {Promise<{ connection: ClientSocket } | { code: string | undefined }>} or why not
 */
function connect(epoch) {
  return new Promise((resolve) => {
    const connection = new ClientSocket(epoch.socket);
    const { socket } = connection;
    const onError = (/** @type {any} */ { code }) => resolve({ code });
    socket.once('error', onError);
    socket.once('connect', () => {
      socket.off('error', onError);
      resolve({ connection });
    });
  });
}

/**
 * The content of a mark: of one length, so that the second pid covers all of the first.
 * @param {number} pid
 */
const markOf = (pid) => String(pid).padEnd(10);

const OF_STDIO = 2;
const MAX_INHERITED = 2 ** 16;
const CLOSE_ON_EXEC = 0o2000000;

/**
 * The descriptors of this process that a started program would inherit, as a shell's redirections.
 * On macOS libuv closes the descriptors; Windows inherits only listed ones.
 * @returns {number[]} none without /proc, and on Bun and Deno: their spawn() passes only standard
 * streams
 */
function inheritedDescriptors() {
  if ('bun' in process.versions || 'deno' in process.versions) return [];
  try {
    // A descriptor opened before the limit was lowered may be above it, and cannot be replaced.
    const end = Math.min(maxDescriptors(), MAX_INHERITED);
    const descriptors = fs.readdirSync('/proc/self/fd').map(Number);
    return descriptors.filter((descriptor) => descriptor < end && isInherited(descriptor));
  } catch {
    return [];
  }
}

/** @param {number} descriptor */
function isInherited(descriptor) {
  if (descriptor <= OF_STDIO) return false;
  try {
    const info = fs.readFileSync(`/proc/self/fdinfo/${descriptor}`, 'utf8');
    return (Number.parseInt(/^flags:\s*(\d+)/m.exec(info)?.[1] ?? '', 8) & CLOSE_ON_EXEC) === 0;
  } catch {
    return false; // closed meanwhile
  }
}

/**
 * Finds the broker of a bucket, or starts it. A broker that ends before it serves is no success:
 * then reach() is called again, and continues.
 */
class Launcher {
  #files;
  #isOver = false;
  /** @type {number | undefined} */
  #triedAt = undefined;
  /** How long it has taken so far. */
  #triedMs = 0;
  /** The last attempt has led to a broker. */
  #hasFound = false;
  #pauseMs = FIRST_PAUSE_MS;
  /** @type {NodeJS.Timeout | undefined} of a pause */
  #timer = undefined;
  #starts = 0;
  /** @type {string | undefined} why there is no broker, as far as it is known */
  #cause = undefined;
  /** @type {DOMException | undefined} there will be none, as without an interpreter */
  #fatal = undefined;
  /** @type {number | undefined} the log of earlier brokers says nothing of this one */
  #logStart = undefined;

  /** @param {BrokerFiles} files */
  constructor(files) {
    this.#files = files;
  }

  get cause() {
    return this.#cause;
  }

  /** @param {string} cause  as the broker has sent it */
  noteRejection(cause) {
    this.#cause = cause;
  }

  /** Ends reach(), which then need not settle. */
  giveUp() {
    this.#isOver = true;
    clearTimeout(this.#timer);
  }

  /**
   * @returns {Promise<Found | undefined>} undefined after giveUp()
   * @throws DOMException when the folder cannot be used, or no broker comes up
   */
  async reach() {
    this.#files.ensure(); // says why this user may not read the log
    this.#logStart ??= fs.lstatSync(this.#logFile, { throwIfNoEntry: false })?.size ?? 0;
    /** @type {string | undefined} */
    let code;
    for (;;) {
      if (this.#triedAt !== undefined) await this.#pause();
      this.#countTime();
      if (this.#isOver) return undefined;
      if (this.#fatal !== undefined) throw this.#fatal;
      if (this.#triedMs > GIVE_UP_MS) throw this.#failure(code);
      const attempt = await this.#tryOnce();
      this.#hasFound = 'connection' in attempt;
      if ('connection' in attempt) {
        if (!this.#isOver) return attempt;
        attempt.connection.socket.destroy();
        return undefined;
      }
      ({ code } = attempt);
    }
  }

  /** @returns {Promise<Found | { code: string | undefined }>} connected, or why not */
  async #tryOnce() {
    try {
      this.#files.ensure(); // it may have been removed during the last attempt
      const number = this.#files.highestEpoch();
      const epoch = number === 0 ? undefined : this.#files.readEpoch(number);
      const sentAt = machineNow();
      const found = epoch === undefined ? { code: undefined } : await connect(epoch);
      if (epoch !== undefined && 'connection' in found) {
        return { connection: found.connection, epoch, sentAt };
      }
      const { code } = /** @type {{ code: string | undefined }} */ (found);
      // Without an epoch to read there is none, or a later one by the next attempt.
      const isGone = epoch === undefined || (await this.#files.isProofOfDeath(code, epoch));
      if (isGone) {
        this.#checkInterpreter(number + 1);
        if (this.#mayStart(number + 1)) this.#start(number + 1);
      }
      return { code };
    } catch (error) {
      const { code, message } = /** @type {any} */ (error);
      if (!isShortage(error) && code !== 'ENOENT') throw error;
      this.#cause = message;
      return { code }; // others may give descriptors back; the next attempt makes the folder again
    }
  }

  async #pause() {
    this.#countTime();
    await new Promise((resolve) => {
      this.#timer = setTimeout(resolve, this.#pauseMs).unref();
    });
    this.#pauseMs = Math.min(
      2 * this.#pauseMs,
      this.#hasFound ? MAX_REJECTED_PAUSE_MS : MAX_PAUSE_MS,
    );
  }

  /** Time in which this thread did not run, being stopped or busy, is no time of trying. */
  #countTime() {
    const now = machineNow();
    this.#triedMs += Math.min(now - (this.#triedAt ?? now), MAX_TRY_MS);
    this.#triedAt = now;
  }

  /**
   * In a single-file program process.execPath is the application: the start of a broker would start
   * the application, which would start the next one. Known packers are refused before anything is
   * started. The application of another packer refuses when it was started as a broker. Its starter
   * reads the refusal in the mark, so a chain of starts ends after one.
   * @param {number} number
   * @throws DOMException (NotSupportedError)
   */
  #checkInterpreter(number) {
    const packing = NO_INTERPRETER();
    const ownMark = NO_BROKER + process.execPath;
    if (packing.reason === undefined && this.#isStartedAsBroker()) {
      this.#overwriteMark(number, ownMark);
      packing.reason = 'it was started as a broker itself';
    } else if (packing.reason === undefined && this.#readMark(number) === ownMark) {
      packing.reason = 'it does not run the program that it is given';
    }
    if (packing.reason !== undefined) throw noInterpreter(packing.reason);
  }

  /** A worker may have other variables than its process; the standard error is the same. */
  #isStartedAsBroker() {
    if (process.env[STARTED_AS_BROKER] !== undefined) return true;
    try {
      const [own, log] = [fs.fstatSync(2), fs.lstatSync(this.#logFile)];
      return own.dev === log.dev && own.ino === log.ino;
    } catch {
      return false; // one of them is not there
    }
  }

  /** @param {number} number */
  #readMark(number) {
    try {
      return this.#files.readText(this.#markFile(number));
    } catch {
      return undefined; // there is none
    }
  }

  /**
   * Whether this client is to start broker `number`. Only to spare the machine: that there is one
   * is the matter of the epoch.
   * @param {number} number
   */
  #mayStart(number) {
    const mark = this.#markFile(number);
    try {
      this.#files.writeNew(mark, markOf(process.pid));
      return true;
    } catch (error) {
      const { code } = /** @type {any} */ (error);
      if (code !== 'EEXIST') {
        // It is there, and empty. Without a free descriptor it may be another client's.
        if (FULL.includes(code)) this.#writeMark(number, undefined);
        throw error;
      }
    }
    try {
      if (this.#isAtWork(mark)) return false;
      fs.rmSync(mark, { force: true });
    } catch {
      // The broker has come and removed it.
    }
    return false;
  }

  /** @param {number} number  of the broker that is being started */
  #markFile(number) {
    return path.join(this.#files.folder, `starting.${number}`);
  }

  /** @param {string} mark */
  #isAtWork(mark) {
    // If its time is in the future, the clock was set back since.
    if (Math.abs(ageOf(mark)) >= START_MS) return false;
    const pid = Number(this.#files.readText(mark));
    return this.#starts >= MAX_QUICK_STARTS || pid === 0 || isProcessThere(pid);
  }

  /** @param {number} number */
  #start(number) {
    this.#starts += 1;
    const { directory, bucket } = this.#files;
    const idleMs = Number(process.env.HOLDFAST_BROKER_IDLE_MS ?? IDLE_MS);
    const options = JSON.stringify({ directory, bucket, number, idleMs, build: BUILD });
    const { file, args, env } = commandFor(packageFile('broker.js'), [options]);
    const inherited = inheritedDescriptors();
    const log = this.#openLog(number);
    /** @type {import('node:child_process').StdioOptions} */
    const stdio = ['ignore', 'ignore', log];
    // The log takes the place of each: a broker that kept one would keep its lock, or its pipe.
    for (const descriptor of inherited) stdio[descriptor] = log;
    /** @type {import('node:child_process').ChildProcess} */
    let child;
    try {
      child = inContextAtLoad(() =>
        spawn(file, args, {
          cwd: path.parse(directory).root, // keeps no directory busy
          detached: true,
          env: /** @type {any} */ ({ ...env, [STARTED_AS_BROKER]: '1' }),
          stdio: Array.from(stdio, (target) => target ?? 'ignore'),
          windowsHide: true,
        }),
      );
    } catch (error) {
      this.#writeMark(number, undefined); // others may start it
      return this.#onStartError(/** @type {Error} */ (error));
    } finally {
      fs.closeSync(log);
    }
    child.on('error', outside().weakly(this.#onStartError));
    child.on('exit', outside().weakly(this.#onEnd));
    child.unref();
    this.#writeMark(number, child.pid);
  }

  #onStartError = (/** @type {Error} */ error) => {
    this.#cause = error.message;
    if (isShortage(error) || /** @type {any} */ (error).code === 'EAGAIN') return; // may pass
    this.#fatal = invalidStateError(`A broker cannot be started: ${error.message}`);
  };

  #onEnd = (/** @type {number | null} */ code, /** @type {string | null} */ signal) => {
    if (code === REPLACED_STATUS) this.#fatal = invalidStateError(REPLACED);
    if (code !== 0) this.#cause = `the broker ended with ${signal ?? `status ${code}`}`;
  };

  /**
   * Now the broker is what others wait for, not this client.
   * @param {number} number
   * @param {number | undefined} pid  undefined: it could not be started
   */
  #writeMark(number, pid) {
    try {
      if (pid === undefined) fs.rmSync(this.#markFile(number), { force: true });
      else this.#overwriteMark(number, markOf(pid));
    } catch {
      // The folder was removed: the next look says so.
    }
  }

  /**
   * @param {number} number
   * @param {string} text
   */
  #overwriteMark(number, text) {
    try {
      this.#files.overwrite(this.#markFile(number), text);
    } catch {
      // The broker has come and removed it.
    }
  }

  get #logFile() {
    return path.join(this.#files.folder, 'log');
  }

  /** @param {number} number */
  #openLog(number) {
    try {
      const fd = this.#files.openForAppending(this.#logFile);
      if (fs.fstatSync(fd).size > MAX_LOG_BYTES) fs.ftruncateSync(fd);
      return fd;
    } catch (error) {
      this.#writeMark(number, undefined); // others may start it
      throw error;
    }
  }

  /** @param {string | undefined} code */
  #failure(code) {
    const why = [this.#cause ?? code, this.#reasonInLog()].filter((text) => text !== undefined);
    return invalidStateError(
      `No broker has served within ${GIVE_UP_MS} ms in ${this.#files.folder}${
        why.length === 0 ? '' : `: ${why.join('; ')}`
      }`,
    );
  }

  /** @returns {string | undefined} the last error that a broker has written since reach() began */
  #reasonInLog() {
    try {
      const log = this.#files.readEnd(this.#logFile, this.#logStart ?? 0);
      return log.split('\n').findLast((line) => REASON.test(line));
    } catch {
      return undefined; // there is none: a broker was never started
    }
  }
}

/** A line of a log that is no part of a stack. */
const REASON = /^(?:broker\b|\w*Error\b|.*: error )/;

/** @typedef {import('node:net').Socket} Socket */

/**
 * @typedef {object} LinkUser
 * @property {(toBrokerTime: (t: number) => number) => unknown[][]} handshake  the first messages
 * @property {(message: any[]) => void} onMessage
 * @property {() => void} onClose  the broker has gone, or has ended the connection
 * @property {(error: Error) => void} onFailure  no broker is to be had
 */

/** The connection to the present broker of a bucket. Ends when this is collected. */
class Link {
  #files;
  #user;
  /** @type {Launcher | undefined} until a broker serves */
  #launcher = undefined;
  #isSearching = false;
  /** @type {ClientSocket | undefined} */
  #connection = undefined;
  #isOpen = false;
  /** How far the broker's clock is ahead. */
  #clockOffset = 0;

  /**
   * @param {BrokerFiles} files
   * @param {LinkUser} user
   */
  constructor(files, user) {
    this.#files = files;
    this.#user = user;
  }

  /** To a broker, which may not have answered. */
  get isConnected() {
    return this.#connection !== undefined;
  }

  get #socket() {
    return this.#connection?.socket;
  }

  get isOpen() {
    return this.#isOpen;
  }

  /** Why there is no broker, as far as it is known. */
  get cause() {
    return this.isConnected ? undefined : this.#launcher?.cause;
  }

  /** Whether the kernel has all that was sent, and knows of no end of the connection. */
  get isFlushed() {
    // Only Node hands the bytes over before write() returns.
    if (!this.#isOpen || CLOCK_KIND !== 'boot') return false;
    const { writable, writableLength } = /** @type {Socket} */ (this.#socket);
    return writable && writableLength === 0; // what it drops after an error has no length
  }

  /** Now, by the broker's clock. */
  now() {
    return this.toBrokerTime(machineNow());
  }

  /** @param {number} t  by the clock of this process */
  toBrokerTime(t) {
    return t + this.#clockOffset;
  }

  /** No effect while there is a connection, or a search for one. */
  open() {
    if (this.isConnected || this.#isSearching) return;
    this.#launcher ??= new Launcher(this.#files);
    this.#isSearching = true;
    const launcher = this.#launcher;
    const onFound = (/** @type {Found | undefined} */ found) => {
      if (this.#launcher !== launcher) return found?.connection.socket.destroy();
      this.#isSearching = false;
      return found === undefined ? undefined : this.#greet(found);
    };
    const onFailure = (/** @type {Error} */ error) => {
      if (this.#launcher !== launcher) return;
      this.#endSearch();
      this.#user.onFailure(error);
    };
    // A then() of the program that throws would leave a link that never opens.
    void apply(then, launcher.reach(), [onFound, onFailure]);
  }

  /** @param {unknown[]} message */
  send(message) {
    if (this.#isOpen) this.#socket?.write(toLine(message));
  }

  close() {
    this.#endSearch();
    const socket = this.#socket;
    this.#connection = undefined;
    this.#isOpen = false;
    socket?.end();
    socket?.unref();
  }

  #endSearch() {
    this.#launcher?.giveUp();
    this.#launcher = undefined;
    this.#isSearching = false;
  }

  /** @param {Found} found */
  #greet(found) {
    const { connection } = found;
    const { socket } = connection;
    this.#connection = connection;
    const nonce = newNonce();
    const reader = new LineReader((message) => {
      if (this.#socket !== socket) return;
      if (this.#isOpen && message[0] === 'ready') this.#endSearch();
      // A broker whose folder was removed reports that to all clients, also before its greeting.
      if (this.#isOpen || message[0] === 'over') this.#user.onMessage(message);
      else if (this.#onGreeting(message, nonce, found)) reader.trust();
    });
    const onBytes = (/** @type {Buffer} */ bytes, /** @type {number} */ length) => {
      try {
        reader.push(bytes, length);
      } catch (error) {
        this.#fail(/** @type {Error} */ (error));
      }
    };
    connection.read(onBytes, () => this.#onClose(socket));
  }

  /**
   * @param {any[]} message
   * @param {string} nonce
   * @param {Found} found
   * @returns {boolean} whether the greetings are over
   */
  #onGreeting([kind, ...rest], nonce, { epoch, sentAt }) {
    const socket = /** @type {Socket} */ (this.#socket);
    if (kind === 'full') {
      this.#launcher?.noteRejection(rest[0]);
      return false; // the end of the connection follows
    }
    if (kind === 'hi') {
      const [version, brokerNonce, ...clock] = rest;
      if (version !== WIRE_VERSION) {
        throw invalidStateError(
          `The broker in ${this.#files.folder}, process ${epoch.pid}, is of another version of ` +
            `holdfast (${version}, not ${WIRE_VERSION}): it ends when its clients have ended`,
        );
      }
      this.#clockOffset = leadOf(clock, sentAt);
      socket.write(toLine(['auth', proofOf(epoch.key, 'client', brokerNonce), nonce]));
      return false;
    }
    if (kind !== 'welcome' || !isProof(epoch.key, 'broker', nonce, rest[0])) {
      throw new DOMException(
        `Another program answers in the place of the broker: ${epoch.socket}`,
        'SecurityError',
      );
    }
    const messages = this.#user.handshake((t) => this.toBrokerTime(t));
    this.#isOpen = true;
    for (const first of messages) this.send(first);
    return true;
  }

  /** @param {Error} error */
  #fail(error) {
    this.close();
    this.#user.onFailure(error);
  }

  /** @param {Socket} socket */
  #onClose(socket) {
    if (this.#socket !== socket) return;
    this.#connection = undefined;
    const wasOpen = this.#isOpen;
    this.#isOpen = false;
    if (wasOpen) this.#user.onClose();
    else this.open(); // the broker died, or was about to end, before its greeting
  }
}

/**
 * @param {any[]} clock  of the broker, as received
 * @param {number} sentAt
 */
function leadOf([kind, now, lead], sentAt) {
  const ours = { kind: CLOCK_KIND, sentAt, receivedAt: machineNow() };
  return clockLead({ kind, now, wallLead: lead }, ours);
}

module.exports = { Launcher, Link };
