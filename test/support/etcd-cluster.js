'use strict';

const { spawn } = require('node:child_process');
const { once } = require('node:events');
const { existsSync, mkdtempSync, rmSync, statfsSync } = require('node:fs');
const { createServer } = require('node:net');
const { tmpdir } = require('node:os');
const path = require('node:path');
const { EtcdMember } = require('./etcd-member.js');

const LOOPBACK = '127.0.0.1';
/** The type that statfs() returns for a file system in memory. */
const TMPFS_MAGIC = 0x01021994;

/** In memory where that is possible: what is tested is not the disk. */
function dataRoot() {
  const isInMemory = existsSync('/dev/shm') && statfsSync('/dev/shm').type === TMPFS_MAGIC;
  return mkdtempSync(path.join(isInMemory ? '/dev/shm' : tmpdir(), 'holdfast-etcd-'));
}

/** Ports without a listener. */
async function freePorts(count) {
  const servers = Array.from({ length: count }, () => createServer().listen(0, LOOPBACK));
  await Promise.all(servers.map((server) => once(server, 'listening')));
  const ports = servers.map((server) => server.address().port);
  await Promise.all(servers.map((server) => once(server.close(), 'close')));
  return ports;
}

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** On loopback, with ports that are free. */
async function loopbackHosts(size) {
  const ports = await freePorts(2 * size);
  return Array.from({ length: size }, (_, index) => ({
    address: LOOPBACK,
    clientPort: ports[2 * index],
    peerPort: ports[2 * index + 1],
    launch: [],
  }));
}

/**
 * @typedef {object} Host  where a member runs
 * @property {string} address
 * @property {number} clientPort
 * @property {number} peerPort
 * @property {string[]} launch  words before the command
 */

/** The overtakes of a name stay for half an hour. @param {string} key */
const isOfASession = (key) => !key.endsWith('/o');

/** A cluster with fresh data. */
class EtcdCluster {
  #directory = dataRoot();
  #isStopped = false;
  /** Words for etcdctl: certificates, a user. */
  #rights;
  #launch;
  /** @type {EtcdMember[]} */
  members = [];

  /**
   * @param {object} [options]
   * @param {number} [options.size]
   * @param {string[]} [options.extra]  further words for etcd
   * @param {string[]} [options.rights]  further words for etcdctl
   * @param {Host[]} [options.hosts]  without it, loopback
   * @param {string[]} [options.launch]  words before etcdctl
   */
  static async start({ size = 1, extra = [], rights = [], hosts, launch = [] } = {}) {
    const cluster = new EtcdCluster();
    cluster.#rights = rights;
    cluster.#launch = launch;
    const addresses = hosts ?? (await loopbackHosts(size));
    cluster.members = addresses.map(
      (host, index) =>
        new EtcdMember({ name: `m${index}`, directory: cluster.#directory, extra, ...host }),
    );
    for (const member of cluster.members) member.start(cluster.members);
    await cluster.untilHealthy();
    return cluster;
  }

  get endpoints() {
    return this.members.map(({ endpoint }) => endpoint);
  }

  /** @param {string} [prefix] */
  url(prefix = 'test', query = '') {
    return this.urlOf(this.endpoints, prefix, query);
  }

  /** @param {string[]} endpoints  of other servers that lead to the members */
  urlOf(endpoints, prefix, query = '') {
    return `etcd://${endpoints.join(',')}/${prefix}${query}`;
  }

  /** Makes the commands from now on with these rights. @param {string[]} rights */
  become(rights) {
    this.#rights = rights;
  }

  /**
   * Refuses all access without a password from now on.
   * @param {string} prefix  of the keys that are for the user `app`, whose password is `app`
   * @returns {Promise<(url: string) => string>} puts that user into a URL
   */
  async requireUser(prefix) {
    const steps = [
      ['user', 'add', 'root:root', '--interactive=false'],
      ['user', 'grant-role', 'root', 'root'],
      ['user', 'add', 'app:app', '--interactive=false'],
      ['role', 'add', 'locks'],
      ['role', 'grant-permission', 'locks', 'readwrite', `${prefix}/`, '--prefix=true'],
      ['user', 'grant-role', 'app', 'locks'],
      ['auth', 'enable'],
    ];
    for (const words of steps) await this.control(...words);
    this.become(['--user', 'root:root']);
    return (url) => url.replace('//', '//app:app@');
  }

  /** @returns {Promise<number[]>} of the first member: 3, 5, 16 */
  async version() {
    const [{ Status }] = JSON.parse(await this.control('endpoint', 'status', '-w', 'json'));
    return Status.version.split('.').map(Number);
  }

  /** Some versions tell their status to root only. @param {string} user  and password */
  async showsStatusTo(user) {
    const words = [`--user=${user}`, 'endpoint', 'status'];
    return this.control(...words).then(
      () => true,
      () => false,
    );
  }

  /** Runs etcdctl. @param {...string} words */
  async control(...words) {
    return this.#controlAt(this.members, words);
  }

  /** Makes all tokens of the user `app` invalid: it gets its password once more. */
  async endTokens() {
    const words = ['user', 'passwd', 'app', '--interactive=false'];
    for (;;) {
      try {
        await this.#controlAt(this.members, words, 'app\n');
        return;
      } catch {
        await this.#pause(100); // there is no leader, say
      }
    }
  }

  /**
   * @param {EtcdMember[]} members  who is asked
   * @param {string[]} words
   * @param {string} [input]
   */
  async #controlAt(members, words, input = '') {
    const endpoints = members.map(({ clientUrl }) => clientUrl).join();
    const patience = ['--command-timeout=60s', '--dial-timeout=60s'];
    const own = [`--endpoints=${endpoints}`, ...patience, ...this.#rights];
    const command = [...this.#launch, 'etcdctl', ...own];
    const [program, ...rest] = [...command, ...words];
    const child = spawn(program, rest, {
      env: { ...process.env, ETCDCTL_API: '3' },
    });
    child.stdin.on('error', () => {}); // it may not read it
    child.stdin.end(input);
    let text = '';
    let errors = '';
    child.stdout.on('data', (data) => (text += data));
    child.stderr.on('data', (data) => (errors += data));
    const [code] = await once(child, 'close');
    if (code !== 0) throw new Error(`etcdctl ${words.join(' ')}: ${errors}`);
    return text;
  }

  /** Like control(), again and again: while there is no leader it fails, or gives up too early. */
  async insist(...words) {
    for (;;) {
      try {
        return await this.control(...words);
      } catch ({ message }) {
        if (/already exist|not found|been compacted/.test(message)) return '';
        await this.#pause(100);
      }
    }
  }

  /** All members answer and have the same leader. */
  async untilHealthy() {
    for (;;) {
      const status = await this.#status();
      const leaders = new Set(status.map(({ leader }) => leader));
      const isOne = leaders.size === 1 && !leaders.has(undefined) && !leaders.has(0);
      if (isOne && status.length === this.members.length) return;
      await this.#pause();
    }
  }

  /** Of the members that answer. */
  async #status() {
    const answers = await Promise.all(
      this.members.map(async (member) => {
        const briefly = ['--command-timeout=2s', '--dial-timeout=2s'];
        const words = [...briefly, 'endpoint', 'status', '-w', 'json'];
        const text = await this.#controlAt([member], words).catch(() => '[]');
        return JSON.parse(text || '[]').map(({ Status, Endpoint }) => ({
          endpoint: new URL(Endpoint).host,
          leader: Status.leader,
          id: Status.header.member_id,
        }));
      }),
    );
    return answers.flat();
  }

  /** As soon as there is one. @returns {Promise<EtcdMember>} */
  async leader() {
    for (;;) {
      const found = (await this.#status()).find(({ id, leader }) => id === leader);
      const member = this.members.find(({ endpoint }) => endpoint === found?.endpoint);
      if (member !== undefined) return member;
      await this.#pause();
    }
  }

  /** Every key that there is. @returns {Promise<string[]>} */
  async keys(prefix = '') {
    const text = await this.insist('get', prefix, '--prefix', '--keys-only');
    return text.split('\n').filter((line) => line !== '');
  }

  /** No session has, or waits for, anything. */
  async untilRested() {
    const isOfARequest = (/** @type {string} */ key) => key.includes('/n/') && isOfASession(key);
    while ((await this.keys()).some(isOfARequest)) await this.#pause();
  }

  /** All sessions have ended: a cluster that stops before keeps them waiting. */
  async untilEmpty() {
    while ((await this.keys()).some(isOfASession)) await this.#pause();
  }

  /** @returns {Promise<bigint>} of the last change */
  async revision() {
    const text = await this.insist('get', 'no such key', '-w', 'json');
    return BigInt(JSON.parse(text).header.revision);
  }

  /** The greatest token that was given so far. */
  lastToken() {
    return this.revision();
  }

  /** Revokes all leases. */
  async endSessions() {
    const text = await this.insist('lease', 'list', '-w', 'json');
    const leases = text.match(/(?<="id":)\d+/g) ?? []; // more than a JavaScript number has
    await Promise.all(
      leases.map((lease) =>
        this.control('lease', 'revoke', BigInt(lease).toString(16)).catch(() => {}),
      ),
    );
  }

  /** Puts an empty member in the place of a lost one. @param {EtcdMember} member */
  async replace(member) {
    await member.kill();
    member.forgetData();
    const list = await this.insist('member', 'list');
    const line = list.split('\n').find((text) => text.split(', ').includes(member.name));
    await this.insist('member', 'remove', line.split(', ')[0]);
    await this.insist('member', 'add', member.name, `--peer-urls=${member.peerUrl}`);
    // It asks another member for the list, and gives up if the list there does not have it yet.
    const others = this.members.filter((it) => it !== member);
    await Promise.all(others.map((other) => this.#untilListed(other, member)));
    member.start(this.members, 'existing');
    await this.untilHealthy();
  }

  /** @param {EtcdMember} lister @param {EtcdMember} member */
  async #untilListed(lister, member) {
    const words = ['--command-timeout=2s', '--dial-timeout=2s', 'member', 'list'];
    const list = () => this.#controlAt([lister], words).catch(() => '');
    while (!(await list()).includes(member.peerUrl)) await this.#pause();
  }

  /** Between two looks. */
  async #pause(ms = 50) {
    await sleep(ms);
    if (this.#isStopped) throw new Error('the cluster was stopped');
  }

  async stop() {
    this.#isStopped = true;
    await Promise.all(this.members.map((member) => member.kill()));
    rmSync(this.#directory, { recursive: true, force: true });
  }
}

module.exports = { EtcdCluster, freePorts, sleep };
