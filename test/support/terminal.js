'use strict';

const { execFileSync, spawnSync } = require('node:child_process');
const { untilEqual } = require('./process-bucket.js');

const quote = (word) => `'${String(word).replaceAll("'", "'\\''")}'`;
let lastServer = 0;

/** Whether there is a terminal to test in. */
const hasTmux = spawnSync('tmux', ['-V']).status === 0;

/** A program in a real terminal of a given size: tmux. */
class Terminal {
  #socket = `holdfast-${process.pid}-${++lastServer}`;

  /**
   * @param {string[]} command
   * @param {{ columns?: number, rows?: number, env?: Record<string, string> }} [options]
   */
  constructor(command, { columns = 80, rows = 24, env = {} } = {}) {
    const size = ['-x', String(columns), '-y', String(rows)];
    // Ctrl-C ends the command, not the shell that prints its status.
    const line = `trap : INT; ${command.map(quote).join(' ')}; printf 'status %s\\n' "$?"; exec cat`;
    this.#tmux(['-f', '/dev/null', 'new-session', '-d', '-s', 'test', ...size, line], {
      ...process.env,
      ...env,
      LC_ALL: 'C.UTF-8',
      TERM: 'xterm-256color',
    });
  }

  #tmux(args, env = process.env) {
    return execFileSync('tmux', ['-L', this.#socket, '-u', ...args], { encoding: 'utf8', env });
  }

  /** The text on the terminal, line by line. */
  lines() {
    return this.#tmux(['capture-pane', '-p', '-t', 'test']).split('\n').slice(0, -1);
  }

  text() {
    return this.lines().join('\n');
  }

  /** Resolves when what is shown matches. */
  async shows(pattern) {
    try {
      await untilEqual(() => pattern.test(this.text()), true);
    } catch {
      expect(this.text()).toMatch(pattern);
    }
  }

  /** Text, letter by letter. */
  type(text) {
    this.#tmux(['send-keys', '-t', 'test', '-l', text]);
  }

  /** Keys as tmux names them: 'q', 'Enter', 'C-c', 'Down'. */
  press(...keys) {
    this.#tmux(['send-keys', '-t', 'test', ...keys]);
  }

  resize(columns, rows) {
    this.#tmux(['resize-window', '-t', 'test', '-x', String(columns), '-y', String(rows)]);
  }

  close() {
    spawnSync('tmux', ['-L', this.#socket, 'kill-server']);
  }
}

module.exports = { Terminal, hasTmux };
