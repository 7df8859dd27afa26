'use strict';

// npm run docs [-- --serve | --dev]: the documentation site, in build/site; then shown on this
// machine. Installs what builds it, in site/; after that it needs no network.

const path = require('node:path');
const { ROOT, StepError, mustRun } = require('./steps/run.js');
const { installIn } = require('./steps/packages.js');
const { collectPages } = require('./steps/site-pages.js');

const SITE = path.join(ROOT, 'site');

/** @param {string[]} args */
const tool = (...args) => mustRun('npm', ['exec', '--prefix', SITE, '--', ...args]);

try {
  installIn(SITE);
  collectPages(ROOT, path.join(ROOT, 'build', 'site-pages'));
  tool('typedoc', '--options', path.join(SITE, 'typedoc.json'));
  if (process.argv.includes('--dev')) tool('vitepress', 'dev', SITE);
  else {
    tool('vitepress', 'build', SITE);
    console.log(`The site is in ${path.join(ROOT, 'build', 'site')}`);
    if (process.argv.includes('--serve')) tool('vitepress', 'preview', SITE);
  }
} catch (error) {
  if (!(error instanceof StepError)) throw error;
  console.error(error.message);
  process.exitCode = 1;
}
