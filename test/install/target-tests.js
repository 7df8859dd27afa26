'use strict';

// The C++ tests as Zig compiles them for another C library or another processor: programs without a
// library of this machine, which run on it or under an emulator.

const { mkdirSync, readFileSync, rmSync } = require('node:fs');
const path = require('node:path');
const { ensureToolchain, ZIG_ENV, ensureZig } = require('../../scripts/steps/toolchain.js');
const { ROOT, StepError, mustRun, run } = require('../../scripts/steps/run.js');

/** @typedef {import('../../scripts/steps/suites.js').Counts} Counts */

/** The simulation's tests need no second C library: the simulation stands in for the platform. */
const PROGRAMS = ['platform_test', 'segment_test', 'core_test'];
/** Debian's, which comes with libgtest-dev. */
const GTEST_SOURCE = '/usr/src/googletest';

/**
 * By name of the delivered binary. Left out under the emulator: the random histories and the crash
 * images, whose result depends on no processor and which take hours there; and the test of a
 * mapping that a forked child is not to have, for the emulator ignores MADV_DONTFORK.
 * @type {Record<string, { triple: string, emulator: string[], filter: string }>}
 */
const TEST_TARGETS = {
  'linux-x64-musl': { triple: 'x86_64-linux-musl', emulator: [], filter: '*' },
  'linux-arm64-musl': {
    triple: 'aarch64-linux-musl',
    emulator: ['qemu-aarch64'],
    filter:
      '-EveryOperation/*:RandomHistory*:CorruptedSegments*:SlotLockTest.IsNotKeptByAForkedChild',
  },
};

/**
 * The counts in a report of GoogleTest.
 * @param {string} json
 * @returns {Counts}
 */
function countsOfGoogleTest(json) {
  const { testsuites } = JSON.parse(json);
  const tests = testsuites.flatMap((/** @type {any} */ suite) => suite.testsuite);
  const ran = tests.filter((/** @type {any} */ { status }) => status === 'RUN');
  const failed = ran.filter((/** @type {any} */ test) => test.failures !== undefined).length;
  const skipped = ran.filter((/** @type {any} */ test) => test.result === 'SKIPPED').length;
  return { passed: ran.length - failed - skipped, failed, skipped };
}

/** @param {string} name @param {string} triple @returns {string} the folder of the programs */
function buildTestPrograms(name, triple) {
  const zig = ensureZig();
  const folder = path.join(ROOT, 'build', `cmake-${name}`);
  const options = {
    CMAKE_TOOLCHAIN_FILE: path.join(ROOT, 'cmake', 'Zig.cmake'),
    HOLDFAST_ZIG: zig,
    HOLDFAST_ZIG_TARGET: triple,
    HOLDFAST_GTEST_SOURCE: GTEST_SOURCE,
    CMAKE_BUILD_TYPE: 'Release',
    CMAKE_CXX_FLAGS_RELEASE: '-O2',
    CMAKE_UNITY_BUILD: 'ON',
    CMAKE_UNITY_BUILD_BATCH_SIZE: '10',
  };
  const defines = Object.entries(options).map(([key, value]) => `-D${key}=${value}`);
  mustRun('cmake', ['-G', 'Ninja', '-S', ROOT, '-B', folder, ...defines], { env: ZIG_ENV });
  mustRun('cmake', ['--build', folder, '-j2', '--target', ...PROGRAMS], { env: ZIG_ENV });
  return folder;
}

/**
 * @param {string} name  of a target
 * @returns {Counts}
 */
function runTargetTests(name) {
  const { triple, emulator, filter } = TEST_TARGETS[name];
  ensureToolchain('cpp', ...(emulator.length > 0 ? [/** @type {const} */ ('arm64')] : []));
  const folder = buildTestPrograms(name, triple);
  const results = path.join(ROOT, 'build', 'test-results');
  mkdirSync(results, { recursive: true });
  const total = { passed: 0, failed: 0, skipped: 0 };
  for (const program of PROGRAMS) {
    const report = path.join(results, `${name}-${program}.json`);
    rmSync(report, { force: true });
    const options = [
      `--gtest_filter=${filter}`,
      '--gtest_brief=1',
      `--gtest_output=json:${report}`,
    ];
    const [command, ...args] = [...emulator, path.join(folder, program), ...options];
    const status = run(command, args, { env: { HOLDFAST_CORRUPTIONS: '500' } });
    const counts = countsOfGoogleTest(readFileSync(report, 'utf8'));
    if (status !== 0 && counts.failed === 0) throw new StepError(`${program} ended with ${status}`);
    for (const key of /** @type {const} */ (['passed', 'failed', 'skipped'])) {
      total[key] += counts[key];
    }
  }
  return total;
}

module.exports = { TEST_TARGETS, countsOfGoogleTest, runTargetTests };
