'use strict';

const { spawnSync } = require('node:child_process');
const {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} = require('node:fs');
const { tmpdir } = require('node:os');
const path = require('node:path');

const ROOT = path.join(__dirname, '../..');
const PROGRAM = path.join(ROOT, 'test/copies/two-copies-program.js');
const PARTS = ['package.json', 'lib', 'build/Release/holdfast.node'];

/** State of a thread that copies share in one form, which another version may have changed. */
const SHARED_STATE = /(sharedByCopies\('\w+\.)(\d+')/g;

/** Two copies of this package: `copy`, and `other-version`, which shares less with it. */
class PackageCopies {
  #folder = mkdtempSync(path.join(tmpdir(), 'holdfast-copies-'));

  constructor() {
    for (const copy of ['copy', 'other-version']) {
      for (const name of PARTS) {
        const target = path.join(this.#folder, copy, name);
        mkdirSync(path.dirname(target), { recursive: true });
        cpSync(path.join(ROOT, name), target, { recursive: true });
      }
    }
    symlinkSync(path.join(ROOT, 'node_modules'), path.join(this.#folder, 'node_modules'));
    this.#changeVersion(path.join(this.#folder, 'other-version'));
  }

  /** @param {string} root */
  #changeVersion(root) {
    for (const name of readdirSync(path.join(root, 'lib'), { recursive: true, encoding: 'utf8' })) {
      const file = path.join(root, 'lib', name);
      if (!name.endsWith('.js')) continue;
      writeFileSync(file, readFileSync(file, 'utf8').replace(SHARED_STATE, '$19$2'));
    }
    const file = path.join(root, 'package.json');
    const about = JSON.parse(readFileSync(file, 'utf8'));
    writeFileSync(file, JSON.stringify({ ...about, version: `9${about.version}` }));
  }

  /**
   * Runs an action of the program in this package and a copy, and returns its result.
   * @param {string} action
   * @param {Record<string, string>} env
   * @param {'copy' | 'other-version'} [copy]
   */
  run(action, env, copy = 'copy') {
    const entries = [ROOT, path.join(this.#folder, copy)].map((it) =>
      path.join(it, 'lib/index.js'),
    );
    const { stdout, stderr, status, signal } = spawnSync(
      process.execPath,
      [PROGRAM, ...entries, action],
      {
        encoding: 'utf8',
        timeout: 30_000, // a watchdog: without the other copy's locks some actions never end
        env: { ...process.env, HOLDFAST_BINARY: '', ...env },
      },
    );
    if (status !== 0) throw new Error(`${signal ?? status}: ${stderr}`);
    return JSON.parse(stdout);
  }

  remove() {
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

module.exports = { PackageCopies };
