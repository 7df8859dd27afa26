'use strict';

const { spawn } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const { dateNow, setTimeout } = require('../../time.js');
const { invalidStateError } = require('../../errors.js');
const { packageFile } = require('../../package-files.js');
const { ClientSocket } = require('./client-socket.js');
const { machineNow } = require('./machine-clock.js');
const { isShortage } = require('./broker-files.js');
const { commandFor } = require('./platform.js');
const { isProcessThere } = require('./process-start.js');

/** @typedef {import('./broker-files.js').BrokerFiles} BrokerFiles */
/** @typedef {import('./broker-files.js').Claim} Claim */

/**
 * A connection, the claim that it leads to, and when it was requested.
 * @typedef {{ connection: ClientSocket, claim: Claim, askedAt: number }} Found
 */

/** A broker without connections ends after this time. */
const IDLE_MS = 10_000;
/**
 * One of many clients starts a broker. Another one does after this time, or at once when the
 * starting process is gone: this often, for one that cannot run would be started without end.
 */
const START_MS = 3000;
const MAX_QUICK_STARTS = 5;
const GIVE_UP_MS = 30_000;
const FIRST_PAUSE_MS = 2;
const MAX_PAUSE_MS = 50;
/** One look and its pause take no longer where the thread runs. */
const MAX_LOOK_MS = 1000;
const MAX_LOG_BYTES = 2 ** 16;
const PRIVATE_FILE = 0o600;

const PROGRAM = 'backends/broker/server/main.js';

/** @param {number} ms */
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms).unref());

/**
 * @param {Claim} claim
 * @returns {Promise<{ connection: ClientSocket } | { code: string | undefined }>} or why not
 */
function connect(claim) {
  return new Promise((resolve) => {
    const connection = new ClientSocket(claim.socket);
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

/** Finds the broker of a place, or starts it. */
class Launcher {
  #place;
  #isOver = false;
  #lookedAt = machineNow();
  /** How long it has looked for the broker. */
  #triedMs = 0;
  #pauseMs = FIRST_PAUSE_MS;
  #starts = 0;

  /** @param {BrokerFiles} place */
  constructor(place) {
    this.#place = place;
  }

  /** Ends reach(). */
  giveUp() {
    this.#isOver = true;
  }

  /**
   * @returns {Promise<Found | undefined>} undefined after giveUp()
   * @throws DOMException when the place cannot be used, or no broker comes up
   */
  async reach() {
    this.#place.ensure();
    while (!this.#isOver) {
      const look = await this.#look();
      if ('connection' in look) {
        if (!this.#isOver) return look;
        look.connection.socket.destroy();
        return undefined;
      }
      if (this.#triedMs > GIVE_UP_MS) throw this.#failure(look.code);
      await this.#pause();
    }
    return undefined;
  }

  /** @returns {Promise<Found | { code: string | undefined }>} connected, or why not */
  async #look() {
    try {
      const number = this.#place.highestClaim();
      const claim = number === 0 ? undefined : this.#place.readClaim(number);
      const askedAt = machineNow();
      const found = claim === undefined ? { code: undefined } : await connect(claim);
      if (claim !== undefined && 'connection' in found) {
        return { connection: found.connection, claim, askedAt };
      }
      const { code } = /** @type {{ code: string | undefined }} */ (found);
      // Without a claim to read there is none, or a later one by the next look.
      const isGone = claim === undefined || (await this.#place.isProofOfDeath(code, claim));
      if (isGone && this.#mayStart(number + 1)) this.#start(number + 1);
      return { code };
    } catch (error) {
      if (!isShortage(error)) throw error;
      return { code: /** @type {any} */ (error).code }; // others may give descriptors back
    }
  }

  /** Time in which this thread did not run, being stopped or busy, is no time of trying. */
  async #pause() {
    await pause(this.#pauseMs);
    this.#pauseMs = Math.min(2 * this.#pauseMs, MAX_PAUSE_MS);
    const now = machineNow();
    this.#triedMs += Math.min(now - this.#lookedAt, MAX_LOOK_MS);
    this.#lookedAt = now;
  }

  /**
   * Whether this client is to start broker `number`. Only to spare the machine: that there is one
   * is the matter of the claim.
   * @param {number} number
   */
  #mayStart(number) {
    const mark = this.#markFile(number);
    try {
      fs.writeFileSync(mark, markOf(process.pid), { flag: 'wx', mode: PRIVATE_FILE });
      return true;
    } catch (error) {
      if (/** @type {any} */ (error).code !== 'EEXIST') throw error;
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
    return path.join(this.#place.folder, `starting.${number}`);
  }

  /** @param {string} mark */
  #isAtWork(mark) {
    if (dateNow() - fs.statSync(mark).mtimeMs >= START_MS) return false;
    const pid = Number(fs.readFileSync(mark, 'utf8'));
    return this.#starts >= MAX_QUICK_STARTS || pid === 0 || isProcessThere(pid);
  }

  /** @param {number} number */
  #start(number) {
    this.#starts += 1;
    const { directory, bucket } = this.#place;
    const idleMs = Number(process.env.HOLDFAST_BROKER_IDLE_MS ?? IDLE_MS);
    const options = JSON.stringify({ directory, bucket, number, idleMs });
    const { file, args, env } = commandFor(packageFile(PROGRAM), [options]);
    const log = this.#openLog(number);
    const child = spawn(file, args, {
      cwd: path.parse(directory).root, // keeps no directory busy
      detached: true,
      env: /** @type {any} */ (env),
      stdio: ['ignore', 'ignore', log],
      windowsHide: true,
    });
    fs.closeSync(log);
    child.on('error', () => {}); // the log or the time tells
    child.unref();
    this.#writeMark(number, child.pid);
  }

  /**
   * Now the broker is what others wait for, not this client.
   * @param {number} number
   * @param {number | undefined} pid  undefined: it could not be started
   */
  #writeMark(number, pid) {
    try {
      if (pid === undefined) fs.rmSync(this.#markFile(number), { force: true });
      else fs.writeFileSync(this.#markFile(number), markOf(pid), { flag: 'r+' });
    } catch {
      // The broker has come and removed it.
    }
  }

  get #logFile() {
    return path.join(this.#place.folder, 'log');
  }

  /** @param {number} number */
  #openLog(number) {
    try {
      const fd = fs.openSync(this.#logFile, 'a', PRIVATE_FILE);
      if (fs.fstatSync(fd).size > MAX_LOG_BYTES) fs.ftruncateSync(fd);
      return fd;
    } catch (error) {
      this.#writeMark(number, undefined); // others may start it
      throw error;
    }
  }

  /** @param {string | undefined} code */
  #failure(code) {
    let log = '';
    try {
      log = fs.readFileSync(this.#logFile, 'utf8').trim().split('\n').slice(-3).join(' | ');
    } catch {
      // There is none: it was never started.
    }
    return invalidStateError(
      `No broker came up within ${GIVE_UP_MS} ms in ${this.#place.folder}` +
        `${code === undefined ? '' : ` (${code})`}${log === '' ? '' : `: ${log}`}`,
    );
  }
}

module.exports = { Launcher };
