'use strict';

// An empty folder, and an environment in which there is no compiler and no Python.

const { spawnSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');

/** The programs that package managers start beside Node. None of these compiles. */
const PROGRAMS = ['sh', 'env', 'uname', 'sed', 'dirname', 'basename', 'tar', 'gzip', 'rm', 'id'];

/** Of variables that lead npm and its likes to this machine’s registry. @param {string} name */
const isRegistrySetting = (name) => /^(npm_config_(registry|cafile)|.*proxy)$/i.test(name);

/** A command that ended with another status than 0; the message has its output. */
class CommandError extends Error {}

class Sandbox {
  /** @param {string} [name] of the folder that programs are run in */
  constructor(name = 'project') {
    this.root = fs.mkdtempSync(path.join(os.tmpdir(), 'holdfast-install-'));
    fs.chmodSync(this.root, 0o755);
    this.project = path.join(this.root, name);
    this.bin = path.join(this.root, 'bin');
    for (const folder of [this.project, this.bin, path.join(this.root, 'home')]) {
      fs.mkdirSync(folder, { recursive: true });
    }
    this.link('node', process.execPath);
    for (const program of PROGRAMS) {
      const found = ['/usr/bin', '/bin']
        .map((folder) => path.join(folder, program))
        .find((file) => fs.existsSync(file));
      if (found !== undefined) this.link(program, found);
    }
    this.lockFolder = fs.mkdtempSync(path.join('/dev/shm', 'holdfast-install-'));
    this.write('package.json', '{ "name": "application", "version": "1.0.0", "private": true }\n');
  }

  /** Puts a program on the PATH. @param {string} name @param {string} file */
  link(name, file) {
    fs.symlinkSync(file, path.join(this.bin, name));
  }

  /** @param {string} name @param {string} text */
  write(name, text) {
    const file = path.join(this.project, name);
    fs.mkdirSync(path.dirname(file), { recursive: true });
    fs.writeFileSync(file, text);
    return file;
  }

  environment() {
    const kept = Object.entries(process.env).filter(([name]) => isRegistrySetting(name));
    const home = path.join(this.root, 'home');
    return {
      ...Object.fromEntries(kept),
      PATH: this.bin,
      HOME: home,
      TMPDIR: this.root,
      LANG: 'C.UTF-8',
      XDG_CACHE_HOME: path.join(home, '.cache'),
      npm_config_update_notifier: 'false',
      npm_config_audit: 'false',
      npm_config_fund: 'false',
      npm_config_offline: 'false',
      HOLDFAST_DIR: this.lockFolder,
    };
  }

  /**
   * Runs a program in the project and gives its standard output.
   * @param {string} program
   * @param {string[]} args
   * @param {{ env?: NodeJS.ProcessEnv, uid?: number, cwd?: string, minutes?: number }} [options]
   *   `minutes`: what a program may take that hangs
   */
  run(program, args, { env = {}, uid, cwd = this.project, minutes = 10 } = {}) {
    const result = spawnSync(program, args, {
      cwd,
      encoding: 'utf8',
      env: { ...this.environment(), ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: minutes * 60_000,
      ...(uid === undefined ? {} : { uid, gid: uid }),
    });
    if (result.status === 0) return result.stdout;
    const output = `${result.stdout}${result.stderr}${result.error ?? ''}`.slice(-4000);
    throw new CommandError(`${program} ${args.join(' ')} ended with ${result.status}:\n${output}`);
  }

  remove() {
    for (const folder of [this.root, this.lockFolder]) {
      spawnSync('chmod', ['-R', 'u+w', folder]);
      fs.rmSync(folder, { recursive: true, force: true });
    }
  }
}

module.exports = { CommandError, Sandbox };
