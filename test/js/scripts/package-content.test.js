'use strict';

const { mkdirSync, mkdtempSync, rmSync, writeFileSync } = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { deadLinks, forbiddenFiles } = require('../../../scripts/release-check.js');

test.each([
  'binding.gyp',
  'scripts/build.js',
  'packaging/zig/package.json',
  'prebuilds/linux-x64-glibc/holdfast.node.debug',
])('%s does not belong into the tarball', (name) => {
  expect(forbiddenFiles(['lib/index.js', name])).toEqual([name]);
});

test.each(['src/binding/addon.cc', 'packaging/from-source/main.js', 'dist/index.js'])(
  '%s belongs into the tarball',
  (name) => {
    expect(forbiddenFiles([name])).toEqual([]);
  },
);

test('a link out of the tarball is found, one to a file or a folder in it is none', () => {
  const root = mkdtempSync(path.join(os.tmpdir(), 'holdfast-content-'));
  try {
    mkdirSync(path.join(root, 'docs'));
    writeFileSync(
      path.join(root, 'README.md'),
      '[a](docs/a.md) [w](https://example.org) [d](docs)',
    );
    writeFileSync(path.join(root, 'docs', 'a.md'), '[up](../README.md#x) [gone](../test/b.md)');
    expect(deadLinks(root, ['README.md', 'docs/a.md'])).toEqual(['test/b.md (in docs/a.md)']);
  } finally {
    rmSync(root, { recursive: true });
  }
});
