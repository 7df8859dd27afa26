'use strict';

// The program of `npm test -- install binaries`: the delivered binaries on their targets.

const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const { line, runJsTests } = require('../../scripts/steps/suites.js');
const { ROOT } = require('../../scripts/steps/run.js');
const { TEST_TARGETS, runTargetTests } = require('./target-tests.js');
const { ensureToolchain } = require('../../scripts/steps/toolchain.js');
const { MAJORS, nodeBinary } = require('../../scripts/test/nodes.js');
const { runWithMusl } = require('./musl-host.js');
const { muslNode } = require('./musl-node.js');
const { Sandbox } = require('./sandbox.js');

/** @typedef {{ unpacked: string }} Tarball */
/** @typedef {import('../../scripts/steps/suites.js').Counts} Counts */

/** The emulator of an arm64 program of Debian. */
const EMULATOR = ['/usr/bin/qemu-aarch64', '-L', '/usr/aarch64-linux-gnu'];
/** The newest that runs in this emulator. */
const ARM64_MAJOR = '24';

/** On the oldest Node all tests run, on the others what depends on the addon and on Node. */
const [OLDEST] = MAJORS;
const JEST_TESTS = ['[.](conformance|process)[.]test', 'test/tasks/'];

/** @param {string} root  of the package @param {string} target */
function delivered(root, target) {
  const file = path.join(root, 'prebuilds', target, 'holdfast.node');
  if (!fs.existsSync(file)) throw new Error(`${target} is missing: npm run prebuilds`);
  return file;
}

/** @param {Counts} counts */
function mustBeFine(counts) {
  if (counts.failed > 0 || counts.passed === 0) throw new Error(line(counts));
  return line(counts);
}

/** @param {string} major */
function runJest(major) {
  const file = delivered(ROOT, 'linux-x64-glibc');
  const counts = runJsTests({
    node: nodeBinary(major),
    report: `jest-delivered-node${major}`,
    args: major === OLDEST ? [] : JEST_TESTS,
    env: { HOLDFAST_BINARY: file },
  });
  return mustBeFine(counts);
}

/** @param {Tarball} tarball */
function runOnArm64(tarball) {
  ensureToolchain('arm64');
  const command = [...EMULATOR, nodeBinary(ARM64_MAJOR, 'arm64')];
  return runProgram(tarball, 'linux-arm64-glibc', command);
}

/** @param {Tarball} tarball */
function runOnMusl(tarball) {
  const { node, env } = muslNode();
  return runProgram(tarball, 'linux-x64-musl', [node], env);
}

/**
 * Locks of threads and processes of a Node that is not of this machine's kind.
 * @param {Tarball} tarball
 * @param {string} target  the binary that it has to load
 * @param {string[]} command  that starts it
 * @param {Record<string, string>} [env]
 */
function runProgram({ unpacked }, target, command, env = {}) {
  delivered(unpacked, target);
  const sandbox = new Sandbox();
  try {
    const installed = path.join(sandbox.project, 'node_modules', 'holdfast');
    fs.cpSync(unpacked, installed, { recursive: true });
    const program = path.join(__dirname, 'processor-program.js');
    sandbox.write('program.js', fs.readFileSync(program, 'utf8'));
    const [first, ...args] = [...command, 'program.js'];
    const printed = execFileSync(first, args, {
      cwd: sandbox.project,
      encoding: 'utf8',
      env: { ...sandbox.environment(), HOLDFAST_TEST_NODE: JSON.stringify(command), ...env },
      timeout: 600_000,
    });
    const { arch, version, addon } = JSON.parse(printed);
    const wanted = path.join('prebuilds', target, 'holdfast.node');
    if (target.split('-')[1] !== arch || !addon.endsWith(wanted)) throw new Error(printed);
    return `Node ${version}: threads, processes, a killed holder`;
  } finally {
    sandbox.remove();
  }
}

/** @param {Tarball} tarball */
function binaryCases(tarball) {
  return [
    {
      name: 'Node on arm64',
      run: () => runOnArm64(tarball),
    },
    {
      name: 'Node with musl',
      run: () => runOnMusl(tarball),
    },
    {
      name: 'linux-x64-musl with musl',
      run: () => runWithMusl(delivered(tarball.unpacked, 'linux-x64-musl')),
    },
    ...Object.keys(TEST_TARGETS).map((target) => ({
      name: `C++ tests, ${target}`,
      run: () => mustBeFine(runTargetTests(target)),
    })),
    ...MAJORS.map((major) => ({
      name: `Jest with linux-x64-glibc, Node ${major}`,
      run: () => runJest(major),
    })),
  ];
}

module.exports = { binaryCases };
