'use strict';

const { spawnSync } = require('node:child_process');
const { mkdirSync, rmSync } = require('node:fs');
const { join } = require('node:path');
const { nodeHeaders } = require('../../scripts/build.js');

const FOLDER = join(__dirname, '../../build/test-addons');

/** An addon for tests, test/support/NAME.cc. Built by each test file that uses it, and removed. */
class TestAddon {
  #name;

  /** @param {string} name */
  constructor(name) {
    this.#name = name;
  }

  get file() {
    return join(FOLDER, `${this.#name}-${process.pid}.node`);
  }

  build() {
    mkdirSync(FOLDER, { recursive: true });
    const source = join(__dirname, `${this.#name}.cc`);
    const options = ['-std=c++20', '-O1', '-shared', '-fPIC', '-isystem', nodeHeaders()];
    const built = spawnSync(process.env.CXX ?? 'c++', [...options, source, '-o', this.file]);
    if (built.status !== 0) throw new Error(`${this.#name}: ${built.error ?? built.stderr}`);
  }

  remove() {
    rmSync(this.file, { force: true });
  }
}

module.exports = { TestAddon };
