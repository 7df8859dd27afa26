'use strict';

// npm test, from a fresh clone on: installs what is missing, builds, runs the C++ and the Jest
// tests, and ends with the line `N passed, N failed`. `npm test -- SUITE [arguments…]` runs one
// suite: `js` or `cpp` (further arguments go to Jest or to CTest), `asan` or `tsan` (the C++ tests
// under a sanitizer), or one of the folder scripts/test, whose head describes it.

const { readdirSync } = require('node:fs');
const path = require('node:path');
const { conclude } = require('./steps/counts.js');
const { build } = require('./steps/build.js');
const { runCppTests } = require('./steps/cpp-tests.js');
const { runJsTests } = require('./steps/js-tests.js');

const FOLDER = path.join(__dirname, 'test');

const [suite = 'all', ...args] = process.argv.slice(2);

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
const FOLDER_SUITES = readdirSync(FOLDER)
  .filter((name) => name.endsWith('.js'))
  .map((name) => path.basename(name, '.js'));

if (Object.hasOwn(SUITES, suite)) conclude(SUITES[suite]);
else if (FOLDER_SUITES.includes(suite)) {
  process.argv.splice(2, 1); // the suite reads its own arguments
  require(path.join(FOLDER, `${suite}.js`));
} else {
  const known = [...Object.keys(SUITES), ...FOLDER_SUITES];
  console.error(`unknown suite "${suite}"; there are ${known.join(', ')}`);
  process.exitCode = 2;
}
