'use strict';

const { spawn } = require('node:child_process');
const { createInterface } = require('node:readline');

/** @typedef {import('holdfast').LockManager} LockManager */

/** A process beside this one, which holds or contends for a lock on command. */
class Peer {
  #child;
  /** @type {((line: string) => void)[]} */
  #waiting = [];

  /** @param {import('node:child_process').ChildProcess} child */
  constructor(child) {
    this.#child = child;
    const lines = createInterface({ input: /** @type {any} */ (child.stdout) });
    lines.on('line', (line) => this.#waiting.shift()?.(line));
  }

  /** @param {object} place  of openLockManager() */
  static start(place) {
    const program = [process.argv[1], 'bench-peer', JSON.stringify(place)];
    const stdio = /** @type {const} */ (['pipe', 'pipe', 'inherit']);
    return new Peer(
      spawn(process.execPath, [...process.execArgv, ...program], { stdio: [...stdio] }),
    );
  }

  /**
   * @param {string} command
   * @returns {Promise<string>} its answer
   */
  ask(command) {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      this.#child.stdin?.write(`${command}\n`);
    });
  }

  kill() {
    this.#child.kill('SIGKILL');
  }

  /** @returns {Promise<void>} */
  end() {
    return new Promise((resolve) => {
      if (this.#child.exitCode !== null || this.#child.signalCode !== null) resolve();
      else this.#child.once('exit', () => resolve());
      this.#child.stdin?.end();
    });
  }
}

/**
 * The work of the process beside: a command on each line, answered by a line.
 * @param {LockManager} manager
 */
function servePeer(manager) {
  const commands = createInterface({ input: process.stdin });
  let isContending = false;
  let turns = 0;
  /** @type {import('holdfast').LockHandle | undefined} */
  let held;
  const contend = async () => {
    for (; isContending; turns += 1) await manager.request('hand-off', () => {});
  };
  /** @type {Record<string, () => unknown>} */
  const actions = {
    hold: async () => (held = await manager.acquire('held')),
    release: () => held?.release(),
    contend: () => {
      isContending = true;
      void contend();
    },
    stop: () => (isContending = false),
  };
  commands.on('line', async (command) => {
    await actions[command]?.();
    process.stdout.write(`${turns}\n`);
  });
  commands.on('close', () => process.exit());
}

module.exports = { Peer, servePeer };
