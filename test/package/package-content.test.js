'use strict';

const { mkdirSync, mkdtempSync, rmSync, writeFileSync } = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { forbiddenFiles, missingFiles, packedPackage } = require('../../scripts/release-check.js');

const ROOT = path.resolve(__dirname, '../..');

test.each([
  'binding.gyp',
  'lib/index.js',
  'docs/install.md',
  'bench/run.js',
  'scripts/build.js',
  'src/binding/addon.cc',
  'packaging/zig/package.json',
  'prebuilds/linux-x64-glibc/holdfast.node.debug',
])('%s does not belong into the tarball', (name) => {
  expect(forbiddenFiles(['dist/index.js', name])).toEqual([name]);
});

test('the tarball has the files that the package needs, and no others', () => {
  const names = packedPackage().files.map((file) => file.path);
  expect(forbiddenFiles(names)).toEqual([]);
  expect(names).toEqual(
    expect.arrayContaining([
      'CHANGELOG.md',
      'LICENSE',
      'README.md',
      'dist/from-source/binding.gyp',
      'dist/from-source/src/binding/addon.cc',
      'dist/from-source/src/sources.txt',
      'dist/holdfast.1',
      'dist/index.js',
      'types/index.d.ts',
    ]),
  );
});

test('no text of the package names a file that the package does not have', () => {
  const names = packedPackage().files.map((file) => file.path);
  expect(missingFiles(ROOT, names)).toEqual([]);
});

test('a page and a picture that are missing are found', () => {
  const root = mkdtempSync(path.join(os.tmpdir(), 'holdfast-content-'));
  try {
    mkdirSync(path.join(root, 'dist'));
    writeFileSync(
      path.join(root, 'README.md'),
      '![a](docs/a.svg) <img srcset="docs/b.png"> <img src="docs/c.png"> [page](docs/page.md)',
    );
    writeFileSync(path.join(root, 'dist', 'cli.js'), "'compact it (docs/etcd.md)'");
    expect(missingFiles(root, ['README.md', 'dist/cli.js', 'docs/a.svg'])).toEqual([
      'docs/etcd.md (in dist/cli.js)',
      'docs/b.png (in README.md)',
      'docs/c.png (in README.md)',
    ]);
  } finally {
    rmSync(root, { recursive: true });
  }
});
