'use strict';

// In a fresh clone there are no packages yet: a script that needs them installs them first.

const { readFileSync, readdirSync } = require('node:fs');
const path = require('node:path');

const SCRIPTS = path.join(__dirname, '..', '..', '..', 'scripts');
const scripts = ['.', 'test'].flatMap((folder) =>
  readdirSync(path.join(SCRIPTS, folder))
    .filter((name) => name.endsWith('.js'))
    .map((name) => path.join(folder, name)),
);

/**
 * The modules that a file requires when it is loaded: calls at the start of a line, in no function.
 */
const requiredAtOnce = (file) =>
  [
    ...readFileSync(file, 'utf8').matchAll(/^(?:const |\} = ).*(?<!["`])\brequire\('([^']+)'\)/gm),
  ].map(([, name]) => name);

/** @returns {string[]} the packages that are loaded together with `file` */
function packagesLoadedBy(file, known = new Set()) {
  if (known.has(file) || !file.endsWith('.js')) return [];
  known.add(file);
  return requiredAtOnce(file).flatMap((name) => {
    if (name.startsWith('node:')) return [];
    if (!name.startsWith('.')) return [name];
    return packagesLoadedBy(path.resolve(path.dirname(file), name), known);
  });
}

test('a module that a file requires when it is loaded is seen', () => {
  const file = path.join(SCRIPTS, 'steps', 'bundle.js');
  expect(packagesLoadedBy(file)).toContain('esbuild');
});

test.each(scripts)('scripts/%s can be loaded without any package', (name) => {
  expect(packagesLoadedBy(path.join(SCRIPTS, name))).toEqual([]);
});

const ROOT = path.join(SCRIPTS, '..');
const LOCK_FILES = ['.', 'bench', 'site', 'test/dashboard', 'test/install/tools/managers'].map(
  (folder) => path.posix.join(folder, 'package-lock.json'),
);

// npm writes a lock file without the optional packages that it does not find, and `npm ci` refuses
// such a file.
test.each(LOCK_FILES)('%s has an entry for every optional package, of any platform', (name) => {
  const { packages } = JSON.parse(readFileSync(path.join(ROOT, name), 'utf8'));
  const names = new Set(Object.keys(packages).map((key) => key.split('node_modules/').at(-1)));
  const optional = Object.values(packages).flatMap((entry) =>
    Object.keys(entry.optionalDependencies ?? {}),
  );
  expect(optional.filter((dependency) => !names.has(dependency))).toEqual([]);
});
