'use strict';

const { fork } = require('node:child_process');
const { once } = require('node:events');
const { join } = require('node:path');
const { BrokerFiles } = require('../../lib/backends/broker/broker-files.js');
const { as } = require('./members.js');
const { filesBelow } = require('./files-below.js');

const PROGRAM = join(__dirname, '../other-users/intruder-program.js');

/** A user outside of a group, who attacks the group's table again and again until the test ends. */
class Intruder {
  attempts = 0;
  succeeded = [];
  #child;
  #folder;
  #done;
  #isEnding = false;

  /**
   * @param {{ user: number, groups: number[] }} user
   * @param {{ directory: string, bucket: string, victim: number, url?: string }} table  url: of a
   *   broker
   */
  constructor(user, table) {
    const [execPath, ...execArgv] = [...as(user), process.execPath];
    const { directory, bucket, url } = table;
    this.#folder =
      url === undefined ? join(directory, bucket) : new BrokerFiles(bucket, directory).folder;
    const options = JSON.stringify({ ...table, folder: this.#folder });
    this.#child = fork(PROGRAM, [options], { execPath, execArgv });
    this.#done = this.#attack();
  }

  async #attack() {
    await once(this.#child, 'message');
    do {
      this.#child.send(filesBelow(this.#folder));
      const [{ attempts, succeeded }] = await once(this.#child, 'message');
      this.attempts += attempts;
      this.succeeded.push(...succeeded);
    } while (!this.#isEnding);
  }

  /** Resolves after the last round. */
  async end() {
    this.#isEnding = true;
    await this.#done;
    this.kill();
  }

  kill() {
    this.#child.kill('SIGKILL');
  }
}

module.exports = { Intruder };
