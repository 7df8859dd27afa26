'use strict';

// npm test -- nodes [majors…]: the Jest tests of the one built addon on every supported version of
// Node.

const { existsSync } = require('node:fs');
const path = require('node:path');
const { runJsTests, conclude } = require('../steps/suites.js');
const { mustRun, ROOT } = require('../steps/run.js');
const { beWhole } = require('../../test/support/lengths.js');
const { build } = require('../build.js');

const MAJORS = ['20', '22', '24', '26'];

/**
 * The binary of the newest release of `major` that npm has; this one when it is of that release.
 * @param {string} major
 * @param {string} [arch]  another processor's, for an emulator
 */
function nodeBinary(major, arch = process.arch) {
  const isOwn = arch === process.arch;
  if (isOwn && process.versions.node.startsWith(`${major}.`)) return process.execPath;
  const name = `node-${process.platform}-${arch}`;
  const prefix = path.join(ROOT, 'build', 'nodes', isOwn ? major : `${major}-${arch}`);
  const binary = path.join(prefix, 'node_modules', name, 'bin', 'node');
  if (!existsSync(binary)) {
    const options = ['--no-save', '--no-package-lock', '--no-audit', '--no-fund'];
    const force = isOwn ? [] : ['--force'];
    mustRun('npm', ['install', ...options, ...force, '--prefix', prefix, `${name}@${major}`]);
  }
  return binary;
}

/**
 * @param {string[]} majors
 * @param {string[]} [tests] Patterns of the tests to run; all without.
 * @param {NodeJS.ProcessEnv} [env]  is added to the environment
 */
function nodeSteps(majors, tests = [], env = {}) {
  return majors.map((major) => ({
    title: `JavaScript tests, Node ${major}`,
    run: () => {
      const node = nodeBinary(major);
      mustRun(node, ['--version']);
      return runJsTests({ node, report: `jest-node${major}`, args: tests, env });
    },
  }));
}

/** @param {string[]} args */
function main(args) {
  beWhole();
  build();
  conclude(nodeSteps(args.length > 0 ? args : MAJORS));
}

module.exports = { MAJORS, nodeBinary, nodeSteps, main };
