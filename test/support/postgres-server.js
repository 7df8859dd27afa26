'use strict';

const { spawn, spawnSync } = require('node:child_process');
const { once } = require('node:events');
const {
  appendFileSync,
  chownSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  rmSync,
} = require('node:fs');
const { createServer } = require('node:net');
const { tmpdir } = require('node:os');
const path = require('node:path');
const { Client } = require('pg');

const DEBIAN = '/usr/lib/postgresql';
const LOOPBACK = '127.0.0.1';
/** How a server is asked to stop: "immediate" is a crash, without a checkpoint. */
const STOP_SIGNALS = { smart: 'SIGTERM', fast: 'SIGINT', immediate: 'SIGQUIT' };

/** The folder of the server's programs: HOLDFAST_POSTGRES, or Debian's newest. */
function programs() {
  if (process.env.HOLDFAST_POSTGRES) return process.env.HOLDFAST_POSTGRES;
  const versions = existsSync(DEBIAN) ? readdirSync(DEBIAN).map(Number) : [];
  return path.join(DEBIAN, String(Math.max(...versions)), 'bin');
}

/** The server refuses to run as root: then it runs as `postgres`, or else as `nobody`. */
function owner() {
  if (process.getuid?.() !== 0) return {};
  const idOf = (user, option) => spawnSync('id', [option, user], { encoding: 'utf8' });
  const user = idOf('postgres', '-u').status === 0 ? 'postgres' : 'nobody';
  const [uid, gid] = ['-u', '-g'].map((option) => Number(idOf(user, option).stdout));
  return { uid, gid };
}

async function freePort() {
  const server = createServer().listen(0, LOOPBACK);
  await once(server, 'listening');
  const { port } = server.address();
  await once(server.close(), 'close');
  return port;
}

/** Copies the data to a small disk, which only the server sees, and becomes the server. */
const ON_SMALL_DISK = `
  mkdir disk && mount -t tmpfs -o mode=755,size="$1" none disk && cp -a data disk &&
  mount --bind disk/data data && shift && exec "$@"`;

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** A PostgreSQL server with a new data folder. Its superuser is `holdfast`. */
class PostgresServer {
  /** Short, because it is also the folder of the socket. */
  #directory = mkdtempSync(path.join(tmpdir(), 'hf-pg-'));
  #ids = owner();
  #settings;
  #diskBytes;
  /** @type {{ address: string, launch: string[] } | undefined} */
  #machine;
  /** @type {import('node:child_process').ChildProcess | undefined} */
  #child;
  #log = '';
  #onExit = () => this.#child?.kill('SIGQUIT');

  /**
   * @param {Record<string, string | number>} settings  of postgresql.conf
   * @param {number} [diskBytes]
   */
  constructor(settings, diskBytes) {
    this.#settings = settings;
    this.#diskBytes = diskBytes;
    if (this.#ids.uid !== undefined) chownSync(this.#directory, this.#ids.uid, this.#ids.gid);
    process.on('exit', this.#onExit);
  }

  /**
   * @param {object} [options]
   * @param {number} [options.maxConnections]
   * @param {Record<string, string | number>} [options.settings]  further ones, like `fsync`
   * @param {number} [options.diskBytes]  the size of its disk; takes the rights of root
   * @param {{ address: string, launch: string[] }} [options.machine]  of a TestNetwork
   */
  static async start({ maxConnections = 100, settings = {}, diskBytes, machine } = {}) {
    const server = new PostgresServer({ fsync: 'off', ...settings }, diskBytes);
    server.#settings.max_connections = maxConnections;
    server.#machine = machine;
    server.#run('initdb', '-D', server.data, '-U', 'holdfast', '-A', 'trust', '-N', '-E', 'UTF8');
    if (machine !== undefined) {
      appendFileSync(path.join(server.data, 'pg_hba.conf'), 'host all all samenet trust\n');
    }
    await server.start();
    return server;
  }

  /** A hot standby that follows a primary, until promote(). @param {PostgresServer} primary */
  static async standbyOf(primary, settings = {}) {
    const standby = new PostgresServer({ ...primary.#settings, ...settings });
    const from = ['-h', LOOPBACK, '-p', String(primary.port), '-U', 'holdfast'];
    standby.#run('pg_basebackup', '-D', standby.data, '-R', '-c', 'fast', '-N', ...from);
    await standby.start();
    return standby;
  }

  get data() {
    return path.join(this.#directory, 'data');
  }

  get #address() {
    return this.#machine?.address ?? LOOPBACK;
  }

  get pid() {
    return this.#child?.pid;
  }

  /** The folder of its disk, if that has a size. */
  get disk() {
    return `/proc/${this.pid}/root${this.#directory}/disk`;
  }

  /** @param {NodeJS.Signals} signal  for the first process, then for the others */
  signal(signal) {
    const { stdout } = spawnSync('pgrep', ['-P', String(this.pid)], { encoding: 'utf8' });
    for (const pid of [this.pid, ...stdout.split('\n').slice(0, -1).map(Number)]) {
      try {
        process.kill(pid, signal);
      } catch (error) {
        if (error.code !== 'ESRCH') throw error;
      }
    }
  }

  /** The output of the server. */
  get log() {
    return this.#log;
  }

  /** The configuration of a client on the socket, or else (`tcp`) on the port. */
  config({ tcp = false, user = 'holdfast', database = 'postgres' } = {}) {
    return { host: tcp ? LOOPBACK : this.#directory, port: this.port, user, database };
  }

  url({ user = 'holdfast', database = 'postgres', query = '' } = {}) {
    return `postgres://${user}@${this.#address}:${this.port}/${database}${query}`;
  }

  /** @param {Parameters<PostgresServer['config']>[0]} [options] */
  async connect(options) {
    const client = new Client(this.config(options));
    client.on('error', () => {}); // that the server has gone
    await client.connect();
    return client;
  }

  /** @param {string} program @param {...string} args */
  #run(program, ...args) {
    const options = { ...this.#ids, cwd: this.#directory, encoding: 'utf8' };
    const { status, stderr, error } = spawnSync(path.join(programs(), program), args, options);
    if (status !== 0) throw new Error(`${program}: ${error?.message ?? stderr}`);
  }

  /** Starts it, again too; resolves when it accepts connections. */
  async start() {
    this.port ??= await freePort();
    const settings = {
      listen_addresses: this.#address,
      unix_socket_directories: this.#directory,
      ...this.#settings,
    };
    const words = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
    const { uid, gid } = this.#ids;
    const server = [path.join(programs(), 'postgres'), '-D', this.data, '-p', String(this.port)];
    const inside = ['unshare', '--mount', 'sh', '-c', ON_SMALL_DISK, 'sh', String(this.#diskBytes)];
    const asOwner = ['setpriv', `--reuid=${uid}`, `--regid=${gid}`, '--clear-groups'];
    const hasDisk = this.#diskBytes !== undefined;
    const isInside = hasDisk || this.#machine !== undefined;
    const launch = [...(this.#machine?.launch ?? []), ...(hasDisk ? inside : [])];
    const [command, ...rest] = isInside ? [...launch, ...asOwner, ...server] : server;
    for (;;) {
      const child = spawn(command, [...rest, ...words], {
        ...(isInside ? {} : this.#ids),
        cwd: this.#directory,
        stdio: ['ignore', 'ignore', 'pipe'],
      });
      let output = '';
      child.stderr.on('data', (data) => {
        output += data;
        this.#log += data;
      });
      this.#child = child;
      if (await this.#isReady(child)) return;
      // The processes of a killed server end shortly after it.
      if (!/in use|already exists/.test(output)) throw new Error(`postgres: ${output}`);
      await sleep(50);
    }
  }

  /** @param {import('node:child_process').ChildProcess} child  @returns whether it has started */
  async #isReady(child) {
    while (child.exitCode === null && child.signalCode === null) {
      try {
        await (await this.connect()).end();
        return true;
      } catch {
        await sleep(20);
      }
    }
    return false;
  }

  /**
   * The data stays. Resolves when the process is gone.
   * @param {keyof typeof STOP_SIGNALS} [mode]
   */
  async stop(mode = 'fast') {
    await this.#end(STOP_SIGNALS[mode]);
  }

  /** SIGKILL of the first process; the others notice it and end. */
  async kill() {
    await this.#end('SIGKILL');
  }

  /** @param {NodeJS.Signals} signal */
  async #end(signal) {
    const child = this.#child;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.kill(signal);
    await ended;
  }

  /** @param {keyof typeof STOP_SIGNALS} [mode] */
  async restart(mode) {
    await this.stop(mode);
    await this.start();
  }

  /** Makes a standby a primary. */
  async promote() {
    const client = await this.connect();
    await client.query('SELECT pg_promote()');
    await client.end();
  }

  /** Ends the server and removes its data. */
  async remove() {
    await this.stop('immediate');
    process.off('exit', this.#onExit);
    rmSync(this.#directory, { recursive: true, force: true, maxRetries: 10 });
  }
}

module.exports = { PostgresServer };
