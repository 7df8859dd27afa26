'use strict';

const { spawn } = require('node:child_process');
const { once } = require('node:events');
const { readFileSync, readdirSync, rmSync } = require('node:fs');
const path = require('node:path');
const { setImmediate: nextTurn } = require('node:timers/promises');

const BINARY = process.env.HOLDFAST_ETCD || 'etcd';
/** A killed test leaves no member. */
const WHILE_THIS_LIVES = ['setpriv', '--pdeathsig=KILL'];
/** The state in Linux of a thread that a signal has stopped. */
const STOPPED = 'T';

/** Of the threads of a process. @param {number} pid */
function statesOf(pid) {
  const threads = readdirSync(`/proc/${pid}/task`);
  const stats = threads.map((id) => readFileSync(`/proc/${pid}/task/${id}/stat`, 'utf8'));
  return stats.map((stat) => stat.slice(stat.lastIndexOf(')') + 2)[0]);
}

/** One etcd process of a cluster: it is started, killed, stopped and replaced. */
class EtcdMember {
  #child;
  #exited;

  /**
   * @param {object} about
   * @param {string} about.name
   * @param {string} about.address
   * @param {number} about.clientPort
   * @param {number} about.peerPort
   * @param {string} about.directory
   * @param {string[]} about.extra  further words for etcd
   * @param {string[]} about.launch  words before the command, like those that enter a namespace
   */
  constructor({ name, address, clientPort, peerPort, directory, extra, launch }) {
    Object.assign(this, { name, address, clientPort, peerPort, directory, extra, launch });
    this.scheme = extra.includes('--cert-file') ? 'https' : 'http';
  }

  get pid() {
    return this.#child?.pid;
  }

  get endpoint() {
    return `${this.address}:${this.clientPort}`;
  }

  get peerUrl() {
    return `http://${this.address}:${this.peerPort}`;
  }

  get clientUrl() {
    return `${this.scheme}://${this.endpoint}`;
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
    const [program, ...rest] = [...this.launch, ...WHILE_THIS_LIVES, BINARY, ...words];
    this.#child = spawn(program, rest, {
      stdio: 'ignore',
      env: { ...process.env, ETCD_UNSUPPORTED_ARCH: process.arch },
    });
    this.#exited = once(this.#child, 'exit');
  }

  signal(name) {
    this.#child.kill(name);
  }

  /** SIGSTOP; resolves when none of its threads runs: one may still answer for a moment. */
  async suspend() {
    this.signal('SIGSTOP');
    while (statesOf(this.pid).some((state) => state !== STOPPED)) await nextTurn();
  }

  /** SIGKILL; resolves when it is gone. */
  async kill() {
    if (this.#child === undefined || this.#child.exitCode !== null || this.#child.signalCode)
      return;
    this.#child.kill('SIGKILL');
    await this.#exited;
  }

  forgetData() {
    rmSync(path.join(this.directory, this.name), { recursive: true, force: true });
  }
}

module.exports = { EtcdMember };
