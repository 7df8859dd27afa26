'use strict';

// Every link between the Markdown files leads to a file that exists, and to a heading of it.

const { existsSync, statSync } = require('node:fs');
const path = require('node:path');
const { ROOT, anchorsOf, documents, linksOf, textOf } = require('../../support/markdown.js');

const { files: packageFiles } = require('../../../package.json');

const files = documents();

/** @returns {string | undefined} what is wrong with a link */
function faultOf(file, link) {
  const [target, anchor] = link.split('#');
  const found = target === '' ? file : path.posix.join(path.posix.dirname(file), target);
  const absolute = path.join(ROOT, found);
  if (!existsSync(absolute)) return `${link}: no such file`;
  if (anchor === undefined || statSync(absolute).isDirectory()) return undefined;
  if (!found.endsWith('.md')) return undefined;
  return anchorsOf(found).has(anchor) ? undefined : `${link}: no such heading`;
}

test.each(files)('the links of %s lead somewhere', (file) => {
  const local = linksOf(file).filter((link) => !/^[a-z]+:/.test(link));
  expect(local.map((link) => faultOf(file, link)).filter(Boolean)).toEqual([]);
});

test.each(files)('the links of %s to other sites are addresses', (file) => {
  const outside = linksOf(file).filter((link) => /^[a-z]+:/.test(link));
  expect(outside.filter((link) => !/^https:\/\/[\w.-]+(\/|$)/.test(link))).toEqual([]);
});

/** Files that stay in the repository are named, not linked: the package does not have them. */
const isDelivered = (file) => !packageFiles.includes(`!${file}`);

test('every delivered page of docs/ can be reached from the README', () => {
  const reached = new Set(['README.md']);
  for (const file of reached) {
    for (const link of linksOf(file)) {
      const target = path.posix.join(path.posix.dirname(file), link.split('#')[0]);
      if (target.endsWith('.md') && existsSync(path.join(ROOT, target))) reached.add(target);
    }
  }
  const pages = files.filter((file) => file.startsWith('docs/') && isDelivered(file));
  expect(pages.filter((file) => !reached.has(file))).toEqual([]);
});

test('the test itself finds a link to nothing', () => {
  expect(faultOf('README.md', 'docs/none.md')).toMatch(/no such file/);
  expect(faultOf('README.md', 'docs/install.md#none')).toMatch(/no such heading/);
  expect(faultOf('README.md', 'docs/install.md#bundlers')).toBe(undefined);
});

const sources = files.filter((file) =>
  /^(README|CONTRIBUTING|docs\/[^/]*|docs\/guides\/.*)\.md$/.test(file),
);
test.each(sources)('the files of the project that %s names exist', (file) => {
  const named = [
    ...textOf(file).matchAll(/`((?:lib|src|test|scripts|examples|types)\/[\w./-]+\.\w+)`/g),
  ];
  expect(
    named.map(([, name]) => name).filter((name) => !existsSync(path.join(ROOT, name))),
  ).toEqual([]);
});
