'use strict';

const { execFileSync, spawnSync } = require('node:child_process');

/** @param {string} word */
const quote = (word) => `'${word.replaceAll("'", "'\\''")}'`;

/** A program in a real terminal: a window of tmux, which nobody looks at. */
class TmuxWindow {
  #socket = `holdfast-pictures-${process.pid}`;

  /**
   * @param {string[]} command
   * @param {{ columns: number, rows: number, env: NodeJS.ProcessEnv }} options
   */
  constructor(command, { columns, rows, env }) {
    const size = ['-x', String(columns), '-y', String(rows)];
    const session = ['-f', '/dev/null', 'new-session', '-d', '-s', 'picture', ...size];
    const terminalEnv = { ...env, LC_ALL: 'C.UTF-8', TERM: 'xterm-256color' };
    this.#tmux([...session, command.map(quote).join(' ')], terminalEnv);
  }

  /** @param {string[]} args @param {NodeJS.ProcessEnv} [env] */
  #tmux(args, env = process.env) {
    return execFileSync('tmux', ['-L', this.#socket, '-u', ...args], { encoding: 'utf8', env });
  }

  /** What the window shows, line by line, with the escape sequences of its colours. */
  lines() {
    return this.#tmux(['capture-pane', '-e', '-N', '-p', '-t', 'picture']).split('\n').slice(0, -1);
  }

  close() {
    spawnSync('tmux', ['-L', this.#socket, 'kill-server']);
  }
}

module.exports = { TmuxWindow };
