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
  writeFileSync,
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

/** Moves the data to a small disk, which only the server sees, for as long as the shell lives. */
const ON_SMALL_DISK = `
  mkdir disk && mount -t tmpfs -o mode=755,size="$1" none disk && cp -a data disk &&
  mount --bind disk/data data && echo ready && exec sleep infinity`;

/** A killed test leaves no server. */
const WHILE_THIS_LIVES = ['setpriv', '--pdeathsig=KILL'];

/** The calls that begin and end a backup, before version 15 and since. */
const BACKUP_CALLS = {
  old: ["pg_start_backup('standby', true, false)", 'pg_stop_backup(false, true)'],
  new: ["pg_backup_start('standby', true)", 'pg_backup_stop()'],
};

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** A PostgreSQL server with a new data folder. Its superuser is `holdfast`. */
class PostgresServer {
  /** Short, because it is also the folder of the socket. */
  #directory = mkdtempSync(path.join(tmpdir(), 'hf-pg-'));
  #ids = owner();
  #settings;
  #diskBytes;
  /** Keeps the small disk. @type {import('node:child_process').ChildProcess | undefined} */
  #diskShell;
  /** @type {{ address: string, launch: string[] } | undefined} */
  #machine;
  /** @type {import('node:child_process').ChildProcess | undefined} */
  #child;
  #log = '';
  #onExit = () => {
    this.#child?.kill('SIGQUIT');
    this.#diskShell?.kill('SIGKILL');
  };

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
    const server = new PostgresServer(
      { fsync: 'off', wal_keep_size: '1GB', ...settings },
      diskBytes,
    );
    server.#settings.max_connections = maxConnections;
    server.#machine = machine;
    server.#run('initdb', '-D', server.data, '-U', 'holdfast', '-A', 'trust', '-N', '-E', 'UTF8');
    if (machine !== undefined) {
      appendFileSync(path.join(server.data, 'pg_hba.conf'), 'host all all samenet trust\n');
    }
    await server.start();
    return server;
  }

  /**
   * A hot standby that follows a primary, until promote(). The program pg_basebackup is missing in
   * the packages of other versions, so this makes the backup.
   * @param {PostgresServer} primary
   * @param {{ settings?: Record<string, string | number>, port?: number }} [options]
   */
  static async standbyOf(primary, { settings = {}, port } = {}) {
    const standby = new PostgresServer({ ...primary.#settings, ...settings });
    standby.port = port;
    const client = await primary.connect();
    const [{ version }] = (
      await client.query("SELECT current_setting('server_version_num')::int AS version")
    ).rows;
    const [begin, end] = version < 150_000 ? BACKUP_CALLS.old : BACKUP_CALLS.new;
    await client.query(`SELECT ${begin}`);
    // A file that ends meanwhile makes cp fail; the log has what happened to it.
    spawnSync('cp', ['-a', primary.data, standby.data]);
    const [{ label }] = (await client.query(`SELECT labelfile AS label FROM ${end}`)).rows;
    await client.end();
    rmSync(path.join(standby.data, 'postmaster.pid'), { force: true });
    const from = `host=${LOOPBACK} port=${primary.port} user=holdfast`;
    for (const [name, text] of [
      ['backup_label', label],
      ['standby.signal', ''],
      ['postgresql.auto.conf', `primary_conninfo = '${from}'\n`],
    ]) {
      const file = path.join(standby.data, name);
      writeFileSync(file, text);
      if (standby.#ids.uid !== undefined) chownSync(file, standby.#ids.uid, standby.#ids.gid);
    }
    await standby.start();
    return standby;
  }

  get data() {
    return path.join(this.#directory, 'data');
  }

  get #address() {
    return this.#machine?.address ?? LOOPBACK;
  }

  get endpoint() {
    return `${this.#address}:${this.port}`;
  }

  get pid() {
    return this.#child?.pid;
  }

  /** The folder of its disk, if that has a size. */
  get disk() {
    return `/proc/${this.#diskShell?.pid}/root${this.#directory}/disk`;
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
    return `postgres://${user}@${this.endpoint}/${database}${query}`;
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
    if (this.#diskBytes !== undefined) await this.#mountDisk(this.#diskBytes);
    const inside = ['nsenter', '--mount', `--target=${this.#diskShell?.pid}`];
    const asOwner = uid === undefined ? [] : [`--reuid=${uid}`, `--regid=${gid}`, '--clear-groups'];
    const [command, ...rest] = [
      ...(this.#machine?.launch ?? []),
      ...(this.#diskShell === undefined ? [] : inside),
      ...WHILE_THIS_LIVES,
      ...asOwner,
      ...server,
    ];
    for (;;) {
      const child = spawn(command, [...rest, ...words], {
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

  /** @param {number} bytes */
  async #mountDisk(bytes) {
    if (this.#diskShell !== undefined) return;
    const words = ['--mount', 'sh', '-c', ON_SMALL_DISK, 'sh', String(bytes)];
    this.#diskShell = spawn('unshare', words, { cwd: this.#directory });
    await once(this.#diskShell.stdout, 'data');
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

  /** Starts it if it has ended. */
  async ensureStarted() {
    const { exitCode = null, signalCode = null } = this.#child ?? {};
    if (exitCode !== null || signalCode !== null) await this.start();
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
    this.#diskShell?.kill('SIGKILL');
    process.off('exit', this.#onExit);
    rmSync(this.#directory, { recursive: true, force: true, maxRetries: 10 });
  }
}

module.exports = { PostgresServer, freePort, owner };
