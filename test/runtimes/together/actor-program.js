'use strict';

// A process of some runtime that does with locks what lines on its standard input tell it:
// `hold NAME` prints `holds NAME` when it holds it, `release NAME`, and `count FILE TIMES` adds 1
// to a file so many times, each time under the lock 'file', and prints `counted`.

const { readFileSync, writeFileSync } = require('node:fs');
const { createInterface } = require('node:readline');
const { locks } = require('../../../lib/index.js');

const say = (line) => process.stdout.write(`${line}\n`);
/** @type {Map<string, () => void>} */
const releases = new Map();

const COMMANDS = {
  hold(name) {
    const isReleased = new Promise((resolve) => releases.set(name, resolve));
    locks.request(name, () => {
      say(`holds ${name}`);
      return isReleased;
    });
    locks.query().then(() => say(`asked ${name}`));
  },

  release: (name) => releases.get(name)(),

  async count(file, times) {
    for (let i = 0; i < Number(times); i += 1) {
      await locks.request('file', async () => {
        const count = Number(readFileSync(file, 'utf8'));
        await new Promise((resolve) => setImmediate(resolve));
        writeFileSync(file, `${count + 1}`);
      });
    }
    say('counted');
  },
};

createInterface({ input: process.stdin }).on('line', (line) => {
  const [command, ...args] = line.split(' ');
  COMMANDS[command](...args);
});
