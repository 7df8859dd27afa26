'use strict';

const { spawn, spawnSync } = require('node:child_process');
const { once } = require('node:events');
const { mkdtempSync, chownSync, rmSync, writeFileSync } = require('node:fs');
const { connect } = require('node:net');
const { tmpdir } = require('node:os');
const path = require('node:path');
const { setTimeout: sleep } = require('node:timers/promises');
const { freePort, owner } = require('./postgres-server.js');

const LOOPBACK = '127.0.0.1';
/** Debian puts it where not each user's path leads. */
const PATH = `${process.env.PATH}:/usr/sbin`;
const hasPooler = spawnSync('pgbouncer', ['--version'], { env: { PATH } }).status === 0;

/** PgBouncer before a server. */
class Pooler {
  #directory = mkdtempSync(path.join(tmpdir(), 'hf-pool-'));
  #child;
  #port;

  /**
   * @param {import('./postgres-server.js').PostgresServer} server
   * @param {'session' | 'transaction' | 'statement'} mode
   * @param {Record<string, string | number>} [settings]  further ones
   */
  static async start(server, mode, settings = {}) {
    const pooler = new Pooler();
    pooler.#port = await freePort();
    const lines = Object.entries({
      listen_addr: LOOPBACK,
      listen_port: pooler.#port,
      unix_socket_dir: '',
      auth_type: 'any',
      pool_mode: mode,
      ...settings,
    }).map(([name, value]) => `${name} = ${value}\n`);
    const database = `* = host=${LOOPBACK} port=${server.port} user=holdfast\n`;
    const file = path.join(pooler.#directory, 'pgbouncer.ini');
    writeFileSync(file, `[databases]\n${database}[pgbouncer]\n${lines.join('')}`);
    const { uid, gid } = owner(); // it refuses to run as root, too
    if (uid !== undefined) chownSync(pooler.#directory, uid, gid);
    pooler.#child = spawn('pgbouncer', [file], {
      ...{ uid, gid, cwd: pooler.#directory, stdio: ['ignore', 'ignore', 'pipe'] },
      env: { PATH },
    });
    await pooler.#untilReady();
    return pooler;
  }

  async #untilReady() {
    let log = '';
    this.#child.stderr.on('data', (text) => (log += text));
    for (;;) {
      const socket = connect(this.#port, LOOPBACK);
      const isReady = await once(socket, 'connect').then(
        () => true,
        () => false,
      );
      socket.destroy();
      if (isReady) return;
      if (this.#child.exitCode !== null) throw new Error(`pgbouncer: ${log}`);
      await sleep(20);
    }
  }

  url(query = '') {
    return `postgres://holdfast@${LOOPBACK}:${this.#port}/postgres${query}`;
  }

  async stop() {
    if (this.#child.exitCode === null && this.#child.signalCode === null) {
      this.#child.kill('SIGQUIT');
      await once(this.#child, 'exit');
    }
    rmSync(this.#directory, { recursive: true, force: true });
  }
}

module.exports = { Pooler, hasPooler };
