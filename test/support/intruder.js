'use strict';

const { fork } = require('node:child_process');
const { once } = require('node:events');
const { readdirSync } = require('node:fs');
const { join } = require('node:path');
const { as } = require('./members.js');

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
   * @param {{ directory: string, bucket: string, victim: number }} table
   */
  constructor(user, table) {
    const [execPath, ...execArgv] = [...as(user), process.execPath];
    this.#child = fork(PROGRAM, [JSON.stringify(table)], { execPath, execArgv });
    this.#folder = join(table.directory, table.bucket);
    this.#done = this.#attack();
  }

  async #attack() {
    await once(this.#child, 'message');
    do {
      this.#child.send(readdirSync(this.#folder));
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
