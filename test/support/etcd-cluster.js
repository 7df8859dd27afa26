'use strict';

const { spawn } = require('node:child_process');
const { once } = require('node:events');
const { existsSync, mkdtempSync, rmSync, statfsSync } = require('node:fs');
const { createServer, connect } = require('node:net');
const { tmpdir } = require('node:os');
const path = require('node:path');

/** Members that a test starts, kills, stops and replaces. */

const BINARY = process.env.HOLDFAST_ETCD || 'etcd';
const LOOPBACK = '127.0.0.1';
/** What statfs() says of a file system in memory. */
const TMPFS_MAGIC = 0x01021994;

/** In memory where that is possible: what is tested is not the disk. */
function dataRoot() {
  const isInMemory = existsSync('/dev/shm') && statfsSync('/dev/shm').type === TMPFS_MAGIC;
  return mkdtempSync(path.join(isInMemory ? '/dev/shm' : tmpdir(), 'holdfast-etcd-'));
}

/** So many ports that nobody listens on. */
async function freePorts(count) {
  const servers = Array.from({ length: count }, () => createServer().listen(0, LOOPBACK));
  await Promise.all(servers.map((server) => once(server, 'listening')));
  const ports = servers.map((server) => server.address().port);
  await Promise.all(servers.map((server) => once(server.close(), 'close')));
  return ports;
}

async function accepts(port) {
  const socket = connect(port, LOOPBACK);
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** One etcd process. */
class EtcdMember {
  #child;
  #exited;

  constructor({ name, clientPort, peerPort, directory, extra }) {
    Object.assign(this, { name, clientPort, peerPort, directory, extra });
    this.scheme = extra.some((word) => word === '--cert-file') ? 'https' : 'http';
  }

  get pid() {
    return this.#child?.pid;
  }

  get peerUrl() {
    return `http://${LOOPBACK}:${this.peerPort}`;
  }

  get clientUrl() {
    return `${this.scheme}://${LOOPBACK}:${this.clientPort}`;
  }

  start(members, state = 'new') {
    const cluster = members.map(({ name, peerUrl }) => `${name}=${peerUrl}`).join(',');
    const words = [
      ...['--name', this.name, '--data-dir', path.join(this.directory, this.name)],
      ...['--listen-client-urls', this.clientUrl, '--advertise-client-urls', this.clientUrl],
      ...['--listen-peer-urls', this.peerUrl, '--initial-advertise-peer-urls', this.peerUrl],
      ...['--initial-cluster', cluster, '--initial-cluster-state', state],
      ...['--log-level', 'error', '--logger', 'zap', ...this.extra],
    ];
    this.#child = spawn(BINARY, words, {
      stdio: 'ignore',
      env: { ...process.env, ETCD_UNSUPPORTED_ARCH: process.arch },
    });
    this.#exited = once(this.#child, 'exit');
  }

  signal(name) {
    this.#child.kill(name);
  }

  /** SIGKILL; resolves when it is gone. */
  async kill() {
    if (this.#child === undefined || this.#child.exitCode !== null || this.#child.signalCode)
      return;
    this.#child.kill('SIGKILL');
    await this.#exited;
  }

  async untilListening() {
    while (!(await accepts(this.clientPort))) await sleep(20);
  }
}

/** A cluster on loopback, with data of its own. */
class EtcdCluster {
  #directory = dataRoot();
  members = [];

  /** @param {{ size?: number, extra?: string[] }} [options]  extra: further words for etcd */
  static async start({ size = 1, extra = [] } = {}) {
    const cluster = new EtcdCluster();
    const ports = await freePorts(2 * size);
    cluster.members = Array.from({ length: size }, (_, index) => {
      const [clientPort, peerPort] = ports.slice(2 * index);
      const directory = cluster.#directory;
      return new EtcdMember({ name: `m${index}`, clientPort, peerPort, directory, extra });
    });
    for (const member of cluster.members) member.start(cluster.members);
    await Promise.all(cluster.members.map((member) => member.untilListening()));
    await cluster.untilHealthy();
    return cluster;
  }

  get endpoints() {
    return this.members.map(({ clientPort }) => `${LOOPBACK}:${clientPort}`);
  }

  /** @param {string} [prefix] */
  url(prefix = 'test', query = '') {
    return `etcd://${this.endpoints.join(',')}/${prefix}${query}`;
  }

  /** Runs etcdctl. @param {...string} words */
  async control(...words) {
    const { endpoints } = this;
    const child = spawn('etcdctl', [`--endpoints=${endpoints}`, ...words], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, ETCDCTL_API: '3' },
    });
    let text = '';
    let errors = '';
    child.stdout.on('data', (data) => (text += data));
    child.stderr.on('data', (data) => (errors += data));
    const [code] = await once(child, 'close');
    if (code !== 0) throw new Error(`etcdctl ${words.join(' ')}: ${errors}`);
    return text;
  }

  /** All members have the same leader. */
  async untilHealthy() {
    while ((await this.leader()) === undefined) await sleep(50);
  }

  /** @returns {Promise<EtcdMember | undefined>} */
  async leader() {
    const text = await this.control('endpoint', 'status', '-w', 'json').catch(() => '[]');
    const status = JSON.parse(text || '[]').map(({ Status, Endpoint }) => ({
      isLeader: Status.leader === Status.header.member_id && Status.leader !== 0,
      port: Number(Endpoint.split(':').at(-1)),
    }));
    const found = status.find(({ isLeader }) => isLeader);
    return this.members.find(({ clientPort }) => clientPort === found?.port);
  }

  /** Every key that there is. @returns {Promise<string[]>} */
  async keys(prefix = '') {
    const text = await this.control('get', prefix, '--prefix', '--keys-only');
    return text.split('\n').filter((line) => line !== '');
  }

  async stop() {
    await Promise.all(this.members.map((member) => member.kill()));
    rmSync(this.#directory, { recursive: true, force: true });
  }
}

module.exports = { EtcdCluster, freePorts, sleep };
