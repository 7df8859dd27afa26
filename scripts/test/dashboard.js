'use strict';

// npm test -- dashboard: the page in a real browser, Debian's Chromium, with what it looks like
// under load. Installs what the tests need: the browser, and the packages of test/dashboard.

const { conclude } = require('../steps/counts.js');
const { build } = require('../steps/build.js');
const { runJsTests } = require('../steps/js-tests.js');
const { StepError, run } = require('../steps/run.js');
const { ensureToolchain } = require('../steps/toolchain.js');

conclude([
  {
    title: 'The page in a browser',
    run: () => {
      ensureToolchain('browser');
      build();
      const install = ['ci', '--no-audit', '--no-fund', '--prefix', 'test/dashboard'];
      if (run('npm', install) !== 0) throw new StepError('npm ci failed in test/dashboard');
      const tests = ['--testMatch', '<rootDir>/test/dashboard/*.test.js'];
      return runJsTests({ report: 'dashboard', args: [...tests, ...process.argv.slice(2)] });
    },
  },
]);
