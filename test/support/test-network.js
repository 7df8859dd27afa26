'use strict';

const { execFileSync } = require('node:child_process');

const NETWORK = '10.213.77';

/** @param {...string} words */
const ip = (...words) => execFileSync('ip', words, { stdio: 'pipe' });

/** Whether this process may make network namespaces. */
const canMakeNetworks = process.getuid?.() === 0;

/**
 * Machines of a network that has no way out: each is a network namespace, with a cable to a switch
 * in a further one. A cable can be unplugged.
 */
class TestNetwork {
  #prefix = `hf${process.pid}`;
  #switch = `${this.#prefix}s`;
  #machines = 0;

  constructor() {
    ip('netns', 'add', this.#switch);
    ip('-n', this.#switch, 'link', 'add', 'switch', 'type', 'bridge');
    ip('-n', this.#switch, 'link', 'set', 'switch', 'up');
  }

  /**
   * @typedef {object} Machine
   * @property {string} name
   * @property {string} address
   * @property {string[]} launch  words that run a command there
   * @property {() => void} unplug
   * @property {() => void} plugIn
   */

  /** @returns {Machine} */
  addMachine() {
    this.#machines += 1;
    const number = this.#machines;
    const name = `${this.#prefix}m${number}`;
    const [port, address] = [`port${number}`, `${NETWORK}.${number}`];
    ip('netns', 'add', name);
    const peer = ['peer', 'name', port, 'netns', this.#switch];
    ip('-n', name, 'link', 'add', 'cable', 'type', 'veth', ...peer);
    ip('-n', name, 'address', 'add', `${address}/24`, 'dev', 'cable');
    ip('-n', name, 'link', 'set', 'lo', 'up');
    ip('-n', name, 'link', 'set', 'cable', 'up');
    ip('-n', this.#switch, 'link', 'set', port, 'master', 'switch');
    const set = (state) => ip('-n', this.#switch, 'link', 'set', port, state);
    set('up');
    return {
      name,
      address,
      launch: ['ip', 'netns', 'exec', name],
      unplug: () => set('down'),
      plugIn: () => set('up'),
    };
  }

  stop() {
    for (let number = 1; number <= this.#machines; number += 1) {
      ip('netns', 'delete', `${this.#prefix}m${number}`);
    }
    ip('netns', 'delete', this.#switch);
  }
}

module.exports = { TestNetwork, canMakeNetworks };
