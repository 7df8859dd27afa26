'use strict';

// npm run docs [-- --serve | --dev]: the documentation site, in build/site; then shown on this
// machine. Installs what builds it, in site/; after that it needs no network.
//
// The pages of the documentation site: the Markdown files of the project and what they show, in a
// separate folder. Links to files that are no pages keep their text alone.

const fs = require('node:fs');
const path = require('node:path');
const { mustRun, ROOT, runProgram } = require('./steps/run.js');
const { installIn } = require('./steps/toolchain.js');

const PAGES = [
  'README.md',
  'CHANGELOG.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  'docs',
  'examples',
  'bench/README.md',
  'bench/RESULTS.md',
  'bench/PROFILE.md',
  'bench/charts',
];
const SHOWN = /\.(md|svg|png)$/;

/**
 * @param {string} root  of the project
 * @returns {string[]} the files of the site, relative to the root
 */
function pageFiles(root) {
  return PAGES.flatMap((name) => {
    if (!fs.statSync(path.join(root, name)).isDirectory()) return [name];
    return fs
      .readdirSync(path.join(root, name), { recursive: true, encoding: 'utf8' })
      .map((file) => path.posix.join(name, file))
      .filter((file) => SHOWN.test(file) && !file.includes('node_modules/'));
  });
}

/**
 * @param {string} text  of a page
 * @param {string} file
 * @param {Set<string>} present  files of the site
 */
function withKnownLinks(text, file, present) {
  // A path in HTML is a module's name for the bundler, unless it begins with a dot.
  const html = text.replace(/ (src|srcset)="(?![a-z]+:|\.)/g, ' $1="./');
  return html.replace(/(!?)\[([^\]]*)\]\(([^)\s]+)\)/g, (all, mark, label, link) => {
    if (/^([a-z]+:|#)/.test(link)) return all;
    const target = path.posix.join(path.posix.dirname(file), link.split('#')[0]);
    if (present.has(target)) return all;
    const page = path.posix.join(target, 'README.md');
    return present.has(page) ? `${mark}[${label}](${link}/README.md)` : label;
  });
}

/**
 * Collects the pages anew.
 * @param {string} root  of the project
 * @param {string} folder  that is made, and was made by this before
 */
function collectPages(root, folder) {
  fs.rmSync(folder, { recursive: true, force: true });
  const files = pageFiles(root);
  const present = new Set(files);
  for (const file of files) {
    const target = path.join(folder, file);
    fs.mkdirSync(path.dirname(target), { recursive: true });
    const source = path.join(root, file);
    if (!file.endsWith('.md')) fs.copyFileSync(source, target);
    else fs.writeFileSync(target, withKnownLinks(fs.readFileSync(source, 'utf8'), file, present));
  }
  fs.copyFileSync(path.join(root, 'site', 'index.md'), path.join(folder, 'index.md'));
  const icon = path.join('lib', 'cli', 'dashboard', 'page', 'icon.svg');
  fs.mkdirSync(path.join(folder, 'public'));
  fs.copyFileSync(path.join(root, icon), path.join(folder, 'public', 'icon.svg'));
}

const SITE = path.join(ROOT, 'site');

/** @param {string[]} args */
const tool = (...args) => mustRun('npm', ['exec', '--prefix', SITE, '--', ...args]);

function main() {
  installIn(SITE);
  collectPages(ROOT, path.join(ROOT, 'build', 'site-pages'));
  tool('typedoc', '--options', path.join(SITE, 'typedoc.json'));
  if (process.argv.includes('--dev')) tool('vitepress', 'dev', SITE);
  else {
    tool('vitepress', 'build', SITE);
    console.log(`The site is in ${path.join(ROOT, 'build', 'site')}`);
    if (process.argv.includes('--serve')) tool('vitepress', 'preview', SITE);
  }
}

if (require.main === module) runProgram(main);

module.exports = { collectPages, withKnownLinks };
