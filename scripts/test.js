'use strict';

// npm test, from a fresh clone on: installs what is missing, builds, runs the C++ and the Jest
// tests, and ends with the line `N passed, N failed`. One suite only: `node scripts/test.js js`,
// `cpp`, `asan` or `tsan`; further arguments go to Jest or to CTest.

const { conclude } = require('./steps/counts.js');
const { build } = require('./steps/build.js');
const { runCppTests } = require('./steps/cpp-tests.js');
const { runJsTests } = require('./steps/js-tests.js');

const [suite, ...args] = process.argv.slice(2);

const cpp = (/** @type {string} */ preset) => ({
  title: preset === 'default' ? 'C++ tests' : `C++ tests, ${preset}`,
  run: () => runCppTests(preset, args),
});
const js = {
  title: 'JavaScript tests',
  run: () => {
    build();
    return runJsTests({ args });
  },
};

/** @type {Record<string, Parameters<typeof conclude>[0]>} */
const SUITES = {
  all: [cpp('default'), js],
  cpp: [cpp('default')],
  js: [js],
  asan: [cpp('asan')],
  tsan: [cpp('tsan')],
};

const steps = SUITES[suite ?? 'all'];
if (steps === undefined) {
  console.error(`unknown suite "${suite}"; there are ${Object.keys(SUITES).join(', ')}`);
  process.exitCode = 2;
} else {
  conclude(steps);
}
