'use strict';

// npm test -- site: builds the documentation site and opens it in a real browser, Debian's
// Chromium. Screenshots are in build/site-shots. Installs the browser and its packages, as the
// suite of the dashboard does.

const path = require('node:path');
const { conclude } = require('../steps/counts.js');
const { runJsTests } = require('../steps/js-tests.js');
const { ensurePackages, installIn } = require('../steps/packages.js');
const { ROOT, mustRun } = require('../steps/run.js');
const { ensureToolchain } = require('../steps/toolchain.js');

conclude([
  {
    title: 'The documentation site in a browser',
    run: () => {
      ensureToolchain('browser');
      mustRun('node', ['scripts/docs.js']);
      ensurePackages();
      installIn(path.join(ROOT, 'test', 'dashboard'));
      const tests = ['--testMatch', '<rootDir>/test/site/*.test.js'];
      return runJsTests({ report: 'site', args: [...tests, ...process.argv.slice(2)] });
    },
  },
]);
