'use strict';

// npm run check: both test suites, formats, linters, types and the words of the pages. With --all,
// the steps of the build server: long tests in their whole length, and the counts of instructions.
// The JavaScript tests that depend on Node run on every other version of it, the conformance suite
// over shared memory (all tests, over all backends: npm test -- nodes). Then the short forms of
// etcd, PostgreSQL, installing, the page, monitoring, Bun, Deno and Node without the native part.
// Then the documentation site, and the C++ tests under the sanitizers. A late step is left out if
// the time would not be enough.
// Ends with the line `N passed, N failed`, in which each check that is no test suite counts as one.

const { beWhole } = require('../test/support/lengths.js');
const { ONE_FAILED, ONE_PASSED, conclude, runCppTests, runJsTests } = require('./steps/suites.js');
const { build } = require('./build.js');
const { runEtcdTests } = require('./test/etcd.js');
const { runPostgresTests } = require('./test/postgres.js');
const { checkInstructions } = require('./test/instructions.js');
const { reportPlainWords } = require('./steps/plain-words.js');
const { endAfter, run } = require('./steps/run.js');
const { runtimeSteps } = require('./test/runtimes.js');
const { ensureToolchain } = require('./steps/toolchain.js');
const { MAJORS, nodeSteps } = require('./test/nodes.js');

const isEverything = process.argv.includes('--all');

/**
 * @param {string} title
 * @param {string} script The name of a script of package.json.
 * @param {string[]} args
 */
const check = (title, script, ...args) => ({
  title,
  run: () =>
    run('npm', ['run', '--silent', script, '--', ...args]) === 0 ? ONE_PASSED : ONE_FAILED,
});

const DEPENDS_ON_NODE = [
  '[.]conformance[.]test',
  'test/tasks/',
  'test/[^/]+/(time|first-contexts|memory|two-managers)[.]test',
  'test/[^/]+/(driven-loop|endings|deadlock|terminated-inside|two-agents|wait-sync)[.]process',
];
const otherMajors = MAJORS.filter((major) => !process.versions.node.startsWith(`${major}.`));

// The time limit of the build server, less the time by which a step may exceed its estimate.
const DEADLINE_MINUTES = 26;
// All tests of JavaScript, the longest program, take up to 14 minutes on a slow machine. Jest
// itself reports a test that hangs, unless it blocks its thread.
const PROGRAM_MINUTES = 20;

if (isEverything) {
  beWhole();
  endAfter(PROGRAM_MINUTES);
}
conclude(
  [
    { title: 'C++ tests', run: () => runCppTests('default') },
    {
      title: 'JavaScript tests',
      run: () => {
        ensureToolchain('terminal');
        build();
        return runJsTests();
      },
    },
    { title: 'Plain words', run: () => (reportPlainWords() ? ONE_PASSED : ONE_FAILED) },
    check('Formats', 'format', '--check'),
    check('Types', 'types'),
    check('ESLint', 'lint', 'js'),
    check('clang-tidy', 'lint', 'cpp'),
    ...(isEverything
      ? [
          { title: 'Instruction counts', run: checkInstructions },
          ...nodeSteps(otherMajors, DEPENDS_ON_NODE, { HOLDFAST_TEST_BACKENDS: 'shared-memory' }),
          ...runEtcdTests({ isShort: true }),
          ...runPostgresTests({ isShort: true }),
          check('Installing', 'test', 'install', '--short', 'managers', 'source'),
          check('The page in a browser', 'test', 'dashboard', 'page'),
          check('Monitoring', 'test', 'monitoring'),
          ...runtimeSteps({ isShort: true }),
          check('The documentation site', 'test', 'site', '-t', 'wide and light'),
          { title: 'C++ tests, asan', minutes: 4, run: () => runCppTests('asan') },
          { title: 'C++ tests, tsan', minutes: 3, run: () => runCppTests('tsan') },
        ]
      : []),
  ],
  isEverything ? { deadline: DEADLINE_MINUTES } : {},
);
