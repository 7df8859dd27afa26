'use strict';

// npm test -- runtimes [--short] [bun] [deno] [plain] [patterns…]: the tests on Bun, on Deno, and
// on this Node without the native part. Runs the conformance suite, the extensions, the broker, the
// scheduler, the demonstration and the examples there. Also runs processes of Node, Bun and Deno
// with one broker.
// Tests that cannot pass are in test/runtimes/differences.js, with their reasons.

const fs = require('node:fs');
const { existsSync } = require('node:fs');
const path = require('node:path');
const { mustRun, ROOT, StepError } = require('../steps/run.js');
const { runJsTests, conclude } = require('../steps/suites.js');
const { beWhole } = require('../../test/support/lengths.js');
const { build } = require('../build.js');

/**
 * @typedef {object} Runtime
 * @property {string} title
 * @property {string} name  as in the lists of differences
 * @property {() => { command: string, args: string[] }} program  that runs a file
 * @property {Record<string, string>} env
 */

/** @type {Record<string, { package: string, binary: string, args: string[] }>} by platform */
const BUN = {
  'linux-x64': { package: '@oven/bun-linux-x64@1.4.5', binary: 'bin/bun', args: [] },
  'linux-arm64': { package: '@oven/bun-linux-aarch64@1.4.5', binary: 'bin/bun', args: [] },
};
/** @type {typeof BUN} */
const DENO = {
  'linux-x64': { package: '@deno/linux-x64-glibc@2.9.6', binary: 'deno', args: ['run', '-A'] },
  'linux-arm64': { package: '@deno/linux-arm64-glibc@2.9.6', binary: 'deno', args: ['run', '-A'] },
};

/** @param {typeof BUN} packages */
function installed(packages) {
  const wanted = packages[`${process.platform}-${process.arch}`];
  if (wanted === undefined) throw new StepError(`no package for ${process.platform}`);
  const { package: spec, binary, args } = wanted;
  const version = spec.lastIndexOf('@');
  const prefix = path.join(ROOT, 'build', 'runtimes', spec.replaceAll('/', '-'));
  const command = path.join(prefix, 'node_modules', spec.slice(0, version), binary);
  if (!existsSync(command)) {
    const options = [
      '--no-save',
      '--no-package-lock',
      '--ignore-scripts',
      '--no-audit',
      '--no-fund',
    ];
    mustRun('npm', ['install', ...options, '--prefix', prefix, spec]);
  }
  return { command, args };
}

/** Locks of the default bucket are in a broker there, too. */
const WITH_BROKER = { HOLDFAST_URL: 'broker:' };

/**
 * Deno (2.9.6) may run the code that it has cached of a file with the same path and length. So each
 * run has a new cache.
 */
const DENO_DIR = path.join(ROOT, 'build', 'runtimes', 'deno-cache');

/** @type {Runtime[]} */
const RUNTIMES = [
  { title: 'Bun', name: 'bun', program: () => installed(BUN), env: WITH_BROKER },
  {
    title: 'Deno',
    name: 'deno',
    program: () => installed(DENO),
    env: { ...WITH_BROKER, DENO_DIR },
  },
  {
    title: 'Node without the native part',
    name: 'plain',
    program: () => ({ command: process.execPath, args: [] }),
    env: { ...WITH_BROKER, HOLDFAST_BINARY: path.join(ROOT, 'build', 'there-is-none.node') },
  },
];

/** @typedef {import('../steps/suites.js').Counts} Counts */

/** Tests that need no native part and no scope of node:vm. */
const FILES = [
  /\.conformance\.test\.js$/,
  /^test\/broker\/[\w-]+\.test\.js$/,
  /^test\/broker\/removed-files\.process\.test\.js$/,
  /^test\/runtimes\/[\w-]+\.test\.js$/,
];

/**
 * Tests of features that differ most by runtime: order of reads, time, ends, threads, scheduler.
 */
const SHORT = [
  '/(async-context|clients|lifetime|order|query|steal)[.]conformance',
  '/(acquire|inspect|request-sync|watch)[.]conformance',
  'tasks/(continuation-[\\w-]+|event-loop|post-task|yield)[.]conformance',
  'broker/(reading-barrier|machine-clock)[.]test',
  'broker/removed-files',
  'runtimes/',
].map((pattern) => new RegExp(pattern));

/** Node without the native part differs from Node in its scheduler alone. */
const PLAIN = /^test\/(tasks|runtimes)\//;

const RUNTIME_NAMES = RUNTIMES.map(({ name }) => name);

/** The files of FILES, from the root on. */
const testFiles = () =>
  fs
    .readdirSync(path.join(ROOT, 'test'), { recursive: true, encoding: 'utf8' })
    .map((name) => `test/${name.replaceAll(path.sep, '/')}`)
    .filter((file) => FILES.some((pattern) => pattern.test(file)))
    .sort();

/** Whether it puts other modules in the place of some: only Jest can. @param {string} file */
const isForJestAlone = (file) =>
  /jest\.(mock|doMock)\(/.test(fs.readFileSync(path.join(ROOT, file), 'utf8'));

/** @param {{ isShort: boolean, patterns: string[], name: string }} choice */
function chosenFiles({ isShort, patterns, name }) {
  return testFiles()
    .filter((file) => name !== 'plain' || PLAIN.test(file))
    .filter((file) => !isForJestAlone(file))
    .filter((file) => !isShort || SHORT.some((pattern) => pattern.test(file)))
    .filter((file) => patterns.length === 0 || patterns.some((text) => file.includes(text)));
}

/**
 * @param {Runtime} runtime
 * @param {string[]} files
 * @returns {Counts}
 */
function runOn({ name, program, env }, files) {
  const result = path.join(ROOT, 'build', 'test-results', `runtime-${name}.json`);
  fs.mkdirSync(path.dirname(result), { recursive: true });
  fs.rmSync(result, { force: true });
  fs.rmSync(DENO_DIR, { recursive: true, force: true });
  const job = { ...program(), env, name, files, result };
  mustRun(process.execPath, [
    path.join(__dirname, '..', 'steps', 'runtime-tests.js'),
    JSON.stringify(job),
  ]);
  return JSON.parse(fs.readFileSync(result, 'utf8'));
}

const NODE = { name: 'node', program: () => ({ command: process.execPath, args: [] }) };
const OTHERS = RUNTIMES.filter(({ name }) => name !== 'plain');

/**
 * A test of this Node, which starts processes of others.
 * @param {Pick<Runtime, 'name' | 'program'>[]} runtimes
 * @param {string} test
 */
function runFromNode(runtimes, test) {
  const programs = runtimes.map(({ name, program }) => [name, program()]);
  const env = {
    HOLDFAST_RUNTIMES: JSON.stringify(Object.fromEntries(programs)),
    HOLDFAST_STRESS_PROCESSES: '3',
  };
  const report = `runtimes-${path.basename(test, '.test.js')}`;
  return runJsTests({ report, args: ['--testMatch', `<rootDir>/test/${test}`], env });
}

const TOGETHER = {
  title: 'Node, Bun and Deno together',
  run: () => runFromNode([NODE, ...OTHERS], 'runtimes/together/mixed.test.js'),
};

/** @param {string[]} names */
const stressTests = (names) =>
  OTHERS.filter(({ name }) => names.includes(name)).map((runtime) => ({
    title: `Stress test on ${runtime.title}`,
    run: () => runFromNode([runtime], 'broker/broker-stress.process.test.js'),
  }));

const STRESS_TOGETHER = {
  title: 'Stress test on Node, Bun and Deno together',
  run: () => runFromNode([NODE, ...OTHERS], 'broker/broker-stress.process.test.js'),
};

/**
 * @param {{ isShort?: boolean, names?: string[], patterns?: string[] }} [options]
 */
function runtimeSteps({ isShort = false, names = RUNTIME_NAMES, patterns = [] } = {}) {
  const steps = RUNTIMES.filter(({ name }) => names.includes(name)).map((runtime) => ({
    title: `Tests on ${runtime.title}`,
    run: () => runOn(runtime, chosenFiles({ isShort, patterns, name: runtime.name })),
  }));
  if (patterns.length > 0) return steps;
  if (names.length < RUNTIMES.length) return [...steps, ...stressTests(names)];
  return [...steps, STRESS_TOGETHER, ...(isShort ? [] : [TOGETHER, ...stressTests(names)])];
}

/** @param {string[]} args */
function main(args) {
  const names = args.filter((arg) => RUNTIME_NAMES.includes(arg));
  const patterns = args.filter((arg) => !arg.startsWith('--') && !names.includes(arg));

  beWhole();
  build(); // the demonstration and the examples use what is built
  conclude(
    runtimeSteps({
      isShort: args.includes('--short'),
      names: names.length > 0 ? names : RUNTIME_NAMES,
      patterns,
    }),
  );
}

module.exports = { RUNTIMES, RUNTIME_NAMES, runtimeSteps, main };
