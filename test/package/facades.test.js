'use strict';

// Both module systems, loaded in a separate program, because a test runner has its own loader.

const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { writeLibrary } = require('../../scripts/steps/bundle.js');

const ROOT = path.resolve(__dirname, '..', '..');

/** A copy of the package. */
let root;
beforeAll(async () => {
  root = fs.mkdtempSync(path.join(os.tmpdir(), 'holdfast-facades-'));
  for (const name of ['lib', 'package.json']) {
    fs.cpSync(path.join(ROOT, name), path.join(root, name), { recursive: true });
  }
  await writeLibrary(root);
});
afterAll(() => fs.rmSync(root, { recursive: true, force: true }));

/** Runs `code` as an ES module inside the package and gives what it printed as JSON. */
function runModule(code, flags = []) {
  const prelude = "import { createRequire } from 'node:module';\n";
  const program = `${prelude}const require = createRequire(import.meta.url);\n${code}`;
  const printed = execFileSync(
    process.execPath,
    [...flags, '--input-type=module', '--eval', program],
    {
      cwd: root,
      encoding: 'utf8',
    },
  );
  return JSON.parse(printed);
}

describe('the package', () => {
  // Bundlers resolve with the condition `module`.
  test.each([
    ['Node', [], 'index.mjs'],
    ['bundlers', ['--conditions=module'], 'index-for-bundlers.mjs'],
    ['ncc', ['--conditions=production'], 'index-for-bundlers.mjs'],
  ])('import and require of holdfast give the same objects, for %s', (_system, flags, file) => {
    const { resolved, required, imported, different } = runModule(
      `
    const required = require('holdfast');
    const imported = await import('holdfast');
    const { default: core, ...named } = imported;
    console.log(JSON.stringify({
      resolved: import.meta.resolve('holdfast').split('/').pop(),
      required: Object.keys(required).sort(),
      imported: Object.keys(named).sort(),
      different: Object.keys(named).filter((name) => named[name] !== required[name])
        .concat(core === required ? [] : ['default']),
    }));
  `,
      flags,
    );
    expect(resolved).toBe(file);
    expect(required).toContain('locks');
    expect(imported).toEqual(required);
    expect(different).toEqual([]);
  });

  test.each([
    ['import', "await import('holdfast/install');"],
    ['require', "require('holdfast/install');"],
  ])(
    'holdfast/install by %s puts the objects of holdfast into the globals',
    (_system, statement) => {
      const shared = runModule(`
    ${statement}
    const { locks, Lock, LockManager } = await import('holdfast');
    console.log(JSON.stringify([
      navigator.locks === locks,
      globalThis.Lock === Lock,
      globalThis.LockManager === LockManager,
    ]));
  `);
      expect(shared).toEqual([true, true, true]);
    },
  );

  test('no file of the package can be reached past its entry points', () => {
    const codes = runModule(`
    const attempt = async (name) => import(name).then(() => 'loaded', ({ code }) => code);
    console.log(JSON.stringify([
      await attempt('holdfast/lib/binding.js'),
      await attempt('holdfast/lib/locks/lock.js'),
    ]));
  `);
    expect(codes).toEqual(['ERR_PACKAGE_PATH_NOT_EXPORTED', 'ERR_PACKAGE_PATH_NOT_EXPORTED']);
  });
});
