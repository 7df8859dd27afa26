'use strict';

const { spawn, spawnSync } = require('node:child_process');
const { mkdtempSync, rmSync } = require('node:fs');
const { tmpdir } = require('node:os');
const path = require('node:path');
const { createInterface } = require('node:readline');
const { BrokerFiles } = require('../../lib/backends/broker/broker-files.js');
const { openLockManager } = require('../../lib/index.js');
const { removeLocks } = require('./broker-process.js');

const LIBRARY = path.join(__dirname, '..', '..', 'lib', 'index.js');
const PROGRAM = path.join(__dirname, '..', '..', 'lib', 'cli', 'holdfast.js');

const MAX_OUTPUT = 64 * 2 ** 20;

/** A command that keeps running: its output can be waited for. */
class RunningCommand {
  #child;
  #lines = [];
  #waiting = [];
  #isOver = false;
  errors = '';

  constructor(child) {
    this.#child = child;
    /** Resolves with { status, signal } when it has ended and its output has been read. */
    this.ended = new Promise((resolve) => {
      child.on('close', (status, signal) => {
        this.#isOver = true;
        for (const { resolve: end } of this.#waiting.splice(0)) end(undefined);
        resolve({ status, signal });
      });
    });
    createInterface({ input: child.stdout }).on('line', (line) => this.#take(line));
    child.stderr.on('data', (text) => (this.errors += text));
  }

  get pid() {
    return this.#child.pid;
  }

  #take(line) {
    const at = this.#waiting.findIndex(({ matches }) => matches(line));
    if (at < 0) this.#lines.push(line);
    else this.#waiting.splice(at, 1)[0].resolve(line);
  }

  /** The next line that matches; undefined: it has ended without one. */
  line(pattern = /^/) {
    const matches = (line) => pattern.test(line);
    const at = this.#lines.findIndex(matches);
    if (at >= 0) return Promise.resolve(this.#lines.splice(0, at + 1).at(-1));
    if (this.#isOver) return Promise.resolve(undefined);
    return new Promise((resolve) => this.#waiting.push({ matches, resolve }));
  }

  write(text) {
    this.#child.stdin.write(text);
  }

  closeInput() {
    this.#child.stdin.end();
    return this.ended;
  }

  kill(signal) {
    process.kill(this.#child.pid, signal);
    return this;
  }
}

/** The command line tool, on a fresh directory, and a lock manager beside it. */
class CommandLine {
  directory = mkdtempSync(path.join(tmpdir(), 'holdfast-cli-'));
  locks;
  #url;
  #running = new Set();
  #handles = [];

  /** @param {string} [url]  of the locks of the manager and of all programs: shm: or broker: */
  constructor(url = undefined) {
    this.#url = url;
    this.locks = openLockManager({ directory: this.directory, ...(url && { url }) });
  }

  environment(extra = {}) {
    const url = this.#url && { HOLDFAST_URL: this.#url };
    return { ...process.env, HOLDFAST_DIR: this.directory, NO_COLOR: '1', ...url, ...extra };
  }

  /** Runs a command to its end. */
  run(args, { input = '', env = {} } = {}) {
    const { status, signal, stdout, stderr } = spawnSync(process.execPath, [PROGRAM, ...args], {
      encoding: 'utf8',
      env: this.environment(env),
      input,
      maxBuffer: MAX_OUTPUT,
    });
    return { status, signal, stdout, stderr };
  }

  /** As run(), and what it printed, line by line, from JSON. */
  json(args) {
    const { stdout } = this.run([...args, '--json']);
    return stdout
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line));
  }

  /** Starts a command, or another program beside it. */
  start(args, { program = [process.execPath, PROGRAM], env = {} } = {}) {
    const child = spawn(program[0], [...program.slice(1), ...args], {
      env: this.environment(env),
      stdio: 'pipe',
    });
    this.#running.add(child);
    child.on('exit', () => this.#running.delete(child));
    return new RunningCommand(child);
  }

  /** Starts a command that holds a lock until its input is closed; resolves when it holds it. */
  async hold(name, ...options) {
    const held = this.start(['exec', ...options, name, '--', 'sh', '-c', 'echo held; cat']);
    await held.line(/held/);
    return held;
  }

  /** Holds a lock in this process, where it does not matter who holds it. */
  async holdHere(...request) {
    this.#handles.push(await this.locks.acquire(...request)); // a forgotten one would be released
  }

  /**
   * Two processes, each inside one lock and waiting for the other's: 'left' and 'right'. It has
   * stood for so long that it is a deadlock.
   */
  async startDeadlock() {
    const program = (first, second) => `
      const { locks } = require(${JSON.stringify(LIBRARY)});
      process.on('warning', () => {});
      const go = new Promise((resolve) => process.stdin.once('data', resolve));
      locks.request('${first}', { deadlock: 'warn' }, () => {
        console.log('holds');
        return go.then(() => locks.request('${second}', { deadlock: 'warn' }, () => {}));
      });`;
    const start = (...names) =>
      this.start(['-e', program(...names)], { program: [process.execPath] });
    const both = [start('left', 'right'), start('right', 'left')];
    for (const one of both) await one.line(/holds/);
    for (const one of both) one.write('go\n');
    const isWaiting = async () => {
      const { pending } = await this.locks.inspect();
      const names = pending.filter(({ waited }) => waited >= 1000).map(({ name }) => name);
      return names.includes('left') && names.includes('right'); // and whatever else waits
    };
    while (!(await isWaiting())) await new Promise((resolve) => setTimeout(resolve, 1));
    return both;
  }

  close() {
    for (const child of this.#running) child.kill('SIGKILL');
    this.locks.close();
    if (this.#url === 'broker:') removeLocks(new BrokerFiles('default', this.directory));
    rmSync(this.directory, { recursive: true, force: true });
  }
}

module.exports = { CommandLine, PROGRAM };
