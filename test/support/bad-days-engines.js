'use strict';

const { spawn } = require('node:child_process');
const { mkdtempSync, rmSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { BrokerFiles } = require('../../lib/backends/broker/broker-files.js');
const { openLockManager } = require('../../lib/index.js');
const { killBroker, removeLocks, signalBroker, suspendBroker } = require('./broker-process.js');
const { EtcdCluster, sleep } = require('./etcd-cluster.js');
const { fillFile } = require('./full-disk.js');
const { PostgresServer } = require('./postgres-server.js');

// The engines of the suite of bad days: each can be silenced, killed and filled.

const LIBRARY = join(__dirname, '../../lib/index.js');
const DISK_BYTES = 8 * 2 ** 20;
/** Room for a new database. */
const POSTGRES_DISK_BYTES = 96 * 2 ** 20;

/**
 * A process whose whole program is a function with `{ locks, open, say, received, require }`: say()
 * sends a value to the test, received() resolves with the next word of the test.
 */
class Program {
  #child;
  #said = [];
  #waiting = [];
  errors = '';
  /** Resolves with the exit status or the signal, and with what stands on standard error. */
  ended;

  /**
   * @param {string} url
   * @param {Function} body
   * @param {string[]} inside  the words that start it
   */
  constructor(url, body, inside) {
    const source = `
      const { openLockManager } = require(${JSON.stringify(LIBRARY)});
      const open = () => openLockManager({ url: ${JSON.stringify(url)} });
      const words = [];
      const waiting = [];
      process.on('message', (word) => waiting.shift()?.(word) ?? words.push(word));
      process.channel.unref();
      const received = () => new Promise((resolve) => {
        if (words.length > 0) return resolve(words.shift());
        process.channel.ref();
        waiting.push((word) => { process.channel.unref(); resolve(word); return true; });
      });
      const say = (value) => new Promise((resolve) => process.send(value, resolve));
      (${body})({ locks: open(), open, say, received, require });`;
    const [program, ...words] = [...inside, process.execPath];
    this.#child = spawn(program, [...words, '-e', source], {
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
      serialization: 'advanced',
    });
    this.#child.stderr.on('data', (text) => (this.errors += text));
    this.#child.on('message', (value) => this.#take(value));
    this.ended = new Promise((resolve) => {
      this.#child.on('close', (code, signal) => {
        const end = { end: signal ?? code, errors: this.errors };
        for (const { reject } of this.#waiting) reject(new Error(JSON.stringify(end)));
        resolve(end);
      });
    });
  }

  get pid() {
    return this.#child.pid;
  }

  #take(value) {
    const waiting = this.#waiting.shift();
    if (waiting === undefined) this.#said.push(value);
    else waiting.resolve(value);
  }

  /** The next value that it says. */
  said() {
    if (this.#said.length > 0) return Promise.resolve(this.#said.shift());
    return new Promise((resolve, reject) => this.#waiting.push({ resolve, reject }));
  }

  report(word) {
    this.#child.send(word);
  }

  end() {
    this.#child.kill('SIGKILL');
    return this.ended;
  }
}

/** The common part of all engines: the directory of locks, its lock managers and its programs. */
class Engine {
  directory = mkdtempSync(join(tmpdir(), 'holdfast-'));
  #managers = [];
  #programs = [];

  /** Rows of a server do not apply. */
  static hasServer = false;
  /** Rows of several processes do not apply. */
  static isOfOneThread = false;
  /** A request for a free name is granted before request() returns. */
  static grantsAtOnce = true;
  /** The number of grants in a long queue; the other requests are aborted, which is faster. */
  static maxTurns = 20_000;
  static requestsWhenFull = 3000;
  /** Sessions end without a server, after the TTL. */
  static hasLeases = false;
  /** Another server does not know the sessions of the one before. */
  static losesAtRestart = false;

  /** @param {number} [_ttlS]  of the sessions, where they have one */
  url(_ttlS) {
    return `${this.constructor.scheme}://${this.directory}/locks`;
  }

  /** @param {number} [ttlS] */
  open(ttlS) {
    const locks = openLockManager({ url: this.url(ttlS) });
    this.#managers.push(locks);
    return locks;
  }

  /** @param {Function} body @param {{ ttlS?: number, inside?: string[] }} [options] */
  run(body, { ttlS, inside = [] } = {}) {
    const program = new Program(this.url(ttlS), body, inside);
    this.#programs.push(program);
    return program;
  }

  /** The words that start a program on a small disk, for locks that are on a disk. */
  get onSmallDisk() {
    const mount = `mount -t tmpfs -o mode=700,size=${DISK_BYTES} none "$0" && exec "$@"`;
    return ['unshare', '--mount', 'sh', '-c', mount, this.directory];
  }

  /** @param {number} pid */
  filler(pid) {
    return `/proc/${pid}/root${this.directory}/filler`;
  }

  /** The disk of the engine takes no byte more. @param {number} pid  of a program on it */
  async fill(pid) {
    fillFile(this.filler(pid), DISK_BYTES);
  }

  /** @param {number} pid */
  async makeRoom(pid) {
    rmSync(this.filler(pid));
  }

  /** Continues a stopped server. */
  resume() {}

  /** Ends the managers and the programs of one test. */
  async clear() {
    this.resume();
    for (const locks of this.#managers.splice(0)) locks.close();
    await Promise.all(this.#programs.splice(0).map((program) => program.end()));
  }

  async stop() {
    await this.clear();
    rmSync(this.directory, { recursive: true, force: true });
  }
}

class SharedMemory extends Engine {
  static scheme = 'shm';
  static start = async () => new SharedMemory();
}

class Local extends Engine {
  static isOfOneThread = true;
  static start = async () => new Local();

  url() {
    return 'local:';
  }
}

class Broker extends Engine {
  /** Another broker begins a new watch; what happened between the two counts as one event. */
  static missesAtRestart = 1;
  static scheme = 'broker';
  static hasServer = true;
  static grantsAtOnce = false;
  static start = async () => new Broker();
  #files = new BrokerFiles('default', join(this.directory, 'locks'));

  async silence() {
    suspendBroker(this.#files);
  }

  resume() {
    signalBroker(this.#files, 'SIGCONT');
  }

  async kill() {
    killBroker(this.#files);
  }

  /** A client has started the next one. */
  async restart() {}

  async stop() {
    await this.clear();
    removeLocks(this.#files);
    await super.stop();
  }
}

class Etcd extends Engine {
  static hasServer = true;
  static grantsAtOnce = false;
  /** The watch continues after the last revision that it has seen. */
  static missesAtRestart = 0;
  static hasLeases = true;
  static maxTurns = 200;
  static requestsWhenFull = 20;
  #cluster;

  static async start({ quota } = {}) {
    const engine = new Etcd();
    const extra = quota === undefined ? [] : ['--quota-backend-bytes', String(quota)];
    engine.#cluster = await EtcdCluster.start({ extra });
    return engine;
  }

  url(ttlS = 10) {
    return this.#cluster.url('days', `?ttl=${ttlS}`);
  }

  get onSmallDisk() {
    return [];
  }

  /** Its quota is used up. */
  async fill() {
    const value = 'x'.repeat(100_000);
    for (let i = 0; ; i += 1) {
      try {
        await this.#cluster.control('put', `full/${i}`, value);
      } catch (error) {
        if (error.message.includes('database space exceeded')) return;
        throw error;
      }
    }
  }

  async makeRoom() {
    await this.#cluster.control('del', 'full/', '--prefix');
    await this.#cluster.control('compact', String(await this.#cluster.revision()));
    await this.#cluster.control('defrag');
    await this.#cluster.control('alarm', 'disarm');
  }

  silence() {
    return this.#cluster.members[0].suspend();
  }

  resume() {
    this.#cluster.members[0].signal('SIGCONT');
  }

  kill() {
    return this.#cluster.members[0].kill();
  }

  /** On the same data. */
  async restart() {
    this.#cluster.members[0].start(this.#cluster.members);
    await this.#cluster.untilHealthy();
  }

  async stop() {
    await this.clear();
    await this.#cluster.untilEmpty();
    await this.#cluster.stop();
    await super.stop();
  }
}

class PostgreSQL extends Engine {
  static hasServer = true;
  static grantsAtOnce = false;
  static hasLeases = true;
  static losesAtRestart = true;
  static maxTurns = 1000;
  static requestsWhenFull = 100;
  #server;
  #isSilent = false;

  static async start({ quota } = {}) {
    const engine = new PostgreSQL();
    engine.#server = await PostgresServer.start(
      quota === undefined ? {} : { diskBytes: POSTGRES_DISK_BYTES },
    );
    return engine;
  }

  url(ttlS = 10) {
    return this.#server.url({ query: `?ttl=${ttlS}` });
  }

  get onSmallDisk() {
    return [];
  }

  filler() {
    return `${this.#server.disk}/filler`;
  }

  async silence() {
    this.#isSilent = true;
    this.#server.signal('SIGSTOP');
  }

  resume() {
    if (this.#isSilent) this.#server.signal('SIGCONT');
    this.#isSilent = false;
  }

  kill() {
    return this.#server.kill();
  }

  restart() {
    return this.#server.start();
  }

  async stop() {
    await this.clear();
    await this.#server.remove();
    await super.stop();
  }
}

const ENGINES = {
  'shared memory': SharedMemory,
  local: Local,
  broker: Broker,
  etcd: Etcd,
  PostgreSQL,
};

module.exports = { ENGINES, sleep };
