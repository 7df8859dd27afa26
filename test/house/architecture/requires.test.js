'use strict';

// Dependencies point down: every require and import below lib/ is read.

const path = require('node:path');
const { allMatches, filesBelow, isThere, textOf } = require('./project-files.js');

/** From the lowest up; a file may require what stands before its own part, or its own folder. */
const JS_LAYERS = [
  ['build-id', 'copies', 'lazy', 'node-internals', 'process-report', 'stack-room'],
  ['c-library', 'binding-error', 'composite-signals', 'time', 'abort-listeners'],
  ['package-files'],
  ['addon-file'],
  ['errors', 'webidl', 'option-names', 'loop-keep-alive', 'binding', 'sliced'],
  ['task-priority'],
  ['backends'],
  ['scheduler'],
  ['locks'],
  ['index'],
  ['install', 'metrics', 'etcd', 'postgres'],
  ['cli'],
];

/** The parts with a seam to the addon: backends of locks, the host callback of the scheduler. */
const ADDON_SEAMS = ['backends', 'scheduler'];

/** The part of lib/ that a file is of: its folder there, or its own name. */
const partOf = (file) =>
  file
    .slice('lib/'.length)
    .split('/')[0]
    .replace(/\.m?js$/, '');
const layerOf = (part) => JS_LAYERS.findIndex((parts) => parts.includes(part));

/**
 * The fault of `file`, below lib/, that requires `required`, a file as well.
 * @returns {string | undefined}
 */
function requireFault(file, required) {
  if (!required.startsWith('lib/')) {
    const isSelf = required === 'package.json';
    return isSelf ? undefined : 'outside lib/';
  }
  const part = partOf(file);
  const target = partOf(required);
  if (layerOf(part) < 0) return 'from a part that has no layer';
  if (target === 'binding' && !ADDON_SEAMS.includes(part)) return 'the addon, past the seams to it';
  if (target === part) return undefined;
  return layerOf(target) >= 0 && layerOf(target) < layerOf(part) ? undefined : 'upwards';
}

/** The files that `file` requires or imports by a relative name, and the packages it names. */
function requiredBy(file) {
  const pattern = /(?:\brequire\(\s*|\bimport\(\s*|\bfrom\s+|^import\s+)'([^']+)'/gm;
  const code = textOf(file).replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '');
  const names = allMatches(code, pattern);
  return {
    files: names
      .filter((name) => name.startsWith('.'))
      .map((name) => path.posix.join(path.posix.dirname(file), name)),
    packages: names.filter((name) => !name.startsWith('.') && !name.startsWith('node:')),
  };
}

describe('requires below lib/', () => {
  const files = filesBelow('lib', ['.js', '.mjs']);
  const manifest = JSON.parse(textOf('package.json'));
  const { devDependencies } = manifest;
  // An optional peer is required where it is used, with an error that says so.
  const dependencies = { ...manifest.dependencies, ...manifest.peerDependencies };
  // The command line tool is delivered in one piece with the packages that it is made of.
  const bundled = { ...dependencies, ...devDependencies, holdfast: 'itself' };
  const packageOf = (name) => name.match(/^(@[^/]+\/)?[^/]+/)[0];

  test.each(files)('%s requires only what lies below it', (file) => {
    const faults = requiredBy(file)
      .files.map((required) => [required, requireFault(file, required)])
      .filter(([, fault]) => fault !== undefined);
    expect(faults).toEqual([]);
  });

  test.each(files)(
    '%s names required files in full, and packages that are dependencies',
    (file) => {
      const { files: required, packages } = requiredBy(file);
      expect(required.filter((name) => !isThere(name))).toEqual([]);
      const allowed = partOf(file) === 'cli' ? bundled : dependencies;
      expect(packages.filter((name) => !(packageOf(name) in allowed))).toEqual([]);
    },
  );

  test.each([
    ['lib/backends/local/backend.js', 'lib/locks/lock.js', 'upwards'],
    ['lib/errors.js', 'lib/webidl.js', 'upwards'],
    ['lib/locks/lock.js', 'lib/index.js', 'upwards'],
    ['lib/locks/lock-manager.js', 'lib/binding.js', 'the addon, past the seams to it'],
    ['lib/locks/lock.js', 'test/support/client.js', 'outside lib/'],
    ['lib/utils.js', 'lib/errors.js', 'from a part that has no layer'],
    ['lib/index.mjs', 'lib/index.js', undefined],
    ['lib/backends/shared-memory/backend.js', 'lib/binding.js', undefined],
    ['lib/scheduler/loop-hook.js', 'lib/binding.js', undefined],
  ])('the rule itself: %s requiring %s is %s', (file, required, fault) => {
    expect(requireFault(file, required)).toBe(fault);
  });

  test('one file of the scheduler knows the event loop', () => {
    const ofScheduler = files.filter((file) => partOf(file) === 'scheduler');
    const knowing = ofScheduler.filter((file) => requiredBy(file).files.includes('lib/binding.js'));
    expect(knowing).toEqual(['lib/scheduler/loop-hook.js']);
  });

  test("Node's internals are known to node-internals.js alone", () => {
    const internals = /_propagate|_tickCallback|getOwnPropertySymbols|\bk[A-Z]\w*(Event|Listener)'/;
    const knowing = files.filter(
      (file) =>
        partOf(file) !== 'cli' && internals.test(textOf(file).replace(/^\s*\/?\*.*$/gm, '')),
    );
    expect(knowing).toEqual(['lib/node-internals.js']);
  });

  test('lib/binding.js alone loads a .node file', () => {
    const loaders = files.filter((file) =>
      /\bdlopen\(|require\([^)]*\.node|createRequire\(\w+\)\(/.test(textOf(file)),
    );
    expect(loaders).toEqual(['lib/binding.js']);
  });
});
