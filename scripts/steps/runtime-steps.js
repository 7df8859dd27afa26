'use strict';

// The steps of `npm test -- runtimes`, one per runtime.

const fs = require('node:fs');
const path = require('node:path');
const { runJsTests } = require('./js-tests.js');
const { ROOT, mustRun } = require('./run.js');
const { RUNTIMES } = require('./runtimes.js');

/** @typedef {import('./counts.js').Counts} Counts */

/** Folders and files of test/ that need no native part and no scope of node:vm. */
const FOLDERS = [
  'conformance',
  'conformance/extensions',
  'conformance/scheduler',
  'js/backends/broker',
  'process/broker-place.test.js',
  'runtimes',
];

/** What differs by runtime most: the order of what is read, time, ends, threads, the scheduler. */
const SHORT = [
  'conformance/async-context',
  'conformance/clients',
  'conformance/extensions/acquire',
  'conformance/extensions/inspect',
  'conformance/extensions/request-sync',
  'conformance/extensions/watch',
  'conformance/lifetime',
  'conformance/order',
  'conformance/query',
  'conformance/steal',
  'conformance/scheduler/(continuation|event-loop|post-task|yield)',
  'js/backends/broker/(reading-barrier|machine-clock)',
  'process/broker-place',
  'runtimes/',
].map((pattern) => new RegExp(pattern));

/** Node without the native part differs from Node in its scheduler alone. */
const PLAIN = /scheduler|runtimes/;

const RUNTIME_NAMES = RUNTIMES.map(({ name }) => name);

/** @param {string} name  below test/ */
function testFiles(name) {
  if (name.endsWith('.js')) return [`test/${name}`];
  const files = fs.readdirSync(path.join(ROOT, 'test', name));
  return files.filter((file) => file.endsWith('.test.js')).map((file) => `test/${name}/${file}`);
}

/** Whether it puts other modules in the place of some: only Jest can. @param {string} file */
const isForJestAlone = (file) =>
  /jest\.(mock|doMock)\(/.test(fs.readFileSync(path.join(ROOT, file), 'utf8'));

/** @param {{ isShort: boolean, patterns: string[], name: string }} choice */
function chosenFiles({ isShort, patterns, name }) {
  return FOLDERS.flatMap(testFiles)
    .filter((file) => name !== 'plain' || PLAIN.test(file))
    .filter((file) => !isForJestAlone(file))
    .filter((file) => !isShort || SHORT.some((pattern) => pattern.test(file)))
    .filter((file) => patterns.length === 0 || patterns.some((text) => file.includes(text)));
}

/**
 * @param {import('./runtimes.js').Runtime} runtime
 * @param {string[]} files
 * @returns {Counts}
 */
function runOn({ name, program, env }, files) {
  const result = path.join(ROOT, 'build', 'test-results', `runtime-${name}.json`);
  fs.mkdirSync(path.dirname(result), { recursive: true });
  fs.rmSync(result, { force: true });
  const job = { ...program(), env, name, files, result };
  mustRun(process.execPath, [path.join(__dirname, 'runtime-tests.js'), JSON.stringify(job)]);
  return JSON.parse(fs.readFileSync(result, 'utf8'));
}

const NODE = { name: 'node', program: () => ({ command: process.execPath, args: [] }) };
const OTHERS = RUNTIMES.filter(({ name }) => name !== 'plain');

/**
 * A test of this Node, which starts processes of others.
 * @param {Pick<import('./runtimes.js').Runtime, 'name' | 'program'>[]} runtimes
 * @param {string} test
 */
function runFromNode(runtimes, test) {
  const programs = runtimes.map(({ name, program }) => [name, program()]);
  const env = {
    HOLDFAST_RUNTIMES: JSON.stringify(Object.fromEntries(programs)),
    HOLDFAST_STORM_PROCESSES: '3',
  };
  const report = `runtimes-${path.basename(test, '.test.js')}`;
  return runJsTests({ report, args: ['--testMatch', `<rootDir>/test/${test}`], env });
}

const TOGETHER = {
  title: 'Node, Bun and Deno together',
  run: () => runFromNode([NODE, ...OTHERS], 'runtimes/together/mixed.test.js'),
};

/** @param {string[]} names */
const storms = (names) =>
  OTHERS.filter(({ name }) => names.includes(name)).map((runtime) => ({
    title: `Storm on ${runtime.title}`,
    run: () => runFromNode([runtime], 'process/broker-storm.test.js'),
  }));

const STORM_TOGETHER = {
  title: 'Storm on Node, Bun and Deno together',
  run: () => runFromNode([NODE, ...OTHERS], 'process/broker-storm.test.js'),
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
  if (names.length < RUNTIMES.length) return [...steps, ...storms(names)];
  return [...steps, STORM_TOGETHER, ...(isShort ? [] : [TOGETHER, ...storms(names)])];
}

module.exports = { RUNTIME_NAMES, runtimeSteps };
