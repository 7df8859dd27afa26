'use strict';

// The package as npm packs it, and as a bundler reads it.

const { execFileSync } = require('node:child_process');
const {
  existsSync,
  mkdtempSync,
  mkdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
} = require('node:fs');
const { tmpdir } = require('node:os');
const path = require('node:path');
const { buildSync } = require('esbuild');

const ROOT = path.resolve(__dirname, '../..');
const ADDON = path.join(ROOT, 'build/Release/holdfast.node');

test('each picture that a page of the package shows is in the package', () => {
  const args = ['pack', '--dry-run', '--json', '--ignore-scripts'];
  const [{ files }] = JSON.parse(execFileSync('npm', args, { cwd: ROOT, encoding: 'utf8' }));
  const packed = new Set(files.map((file) => file.path));
  const pages = [...packed].filter((file) => file.endsWith('.md'));
  const missing = pages.flatMap((page) => {
    const text = readFileSync(path.join(ROOT, page), 'utf8');
    const pictures = [...text.matchAll(/(?:src|srcset)="([^"]+)"|!\[[^\]]*\]\(([^)]+)\)/g)];
    return pictures
      .map(([, html, markdown]) => path.posix.join(path.posix.dirname(page), html ?? markdown))
      .filter((picture) => !packed.has(picture));
  });
  expect(pages).toContain('README.md');
  expect(missing).toEqual([]);
});

describe('in a bundle', () => {
  let folder;
  beforeAll(() => {
    expect(existsSync(path.join(ROOT, 'dist/index.js'))).toBe(true); // npm run build
    folder = mkdtempSync(path.join(tmpdir(), 'holdfast-'));
    mkdirSync(path.join(folder, 'node_modules'));
    symlinkSync(ROOT, path.join(folder, 'node_modules/holdfast'));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  /** Bytes of a bundle of this program. */
  const sizeOf = (contents, options) => {
    const { outputFiles } = buildSync({
      stdin: { contents, resolveDir: folder },
      ...{ bundle: true, platform: 'node', format: 'esm', write: false, logLevel: 'error' },
      ...options,
    });
    return outputFiles[0].contents.length;
  };

  test.each([
    ['holdfast', {}],
    ['holdfast', { conditions: ['production'] }],
    ['holdfast/metrics', {}],
    ['holdfast/etcd', {}],
  ])('%s that nothing uses is left out (%j)', (name, options) => {
    const contents = `import * as holdfast from '${name}'; console.log('program');`;
    expect(sizeOf(contents, options)).toBeLessThan(100);
  });

  test('holdfast/install is kept: its import is its use', () => {
    expect(sizeOf("import 'holdfast/install';")).toBeGreaterThan(10_000);
  });

  test('that is minified, classes keep their names, and copies know each other', () => {
    const contents = `
      import * as holdfast from ${JSON.stringify(path.join(ROOT, 'lib/index.js'))};
      import { LockMetrics } from ${JSON.stringify(path.join(ROOT, 'lib/metrics/index.js'))};
      const copy = module.require(${JSON.stringify(path.join(ROOT, 'lib/index.js'))});
      const classes = Object.entries({ ...holdfast.default, LockMetrics })
        .filter(([, value]) => /^class/.test(value));
      const { locks, scheduler, LockManager, Mutex, TaskController } = holdfast;
      console.log(JSON.stringify({
        renamed: classes.filter(([name, value]) => name !== value.name).map(([name]) => name),
        count: classes.length,
        tags: [locks, scheduler, new TaskController().signal].map(String),
        isOfCopy: [locks instanceof copy.LockManager, copy.locks instanceof LockManager],
        isOther: copy.locks instanceof Mutex,
      }));`;
    buildSync({
      stdin: { contents, resolveDir: folder },
      ...{ bundle: true, minify: true, platform: 'node', format: 'cjs', logLevel: 'error' },
      outfile: path.join(folder, 'minified.js'),
    });
    const env = { ...process.env, HOLDFAST_BINARY: ADDON };
    const args = [path.join(folder, 'minified.js')];
    const output = execFileSync(process.execPath, args, { encoding: 'utf8', env });
    const { count, ...found } = JSON.parse(output);
    expect(count).toBeGreaterThan(10);
    expect(found).toEqual({
      renamed: [],
      tags: ['[object LockManager]', '[object Scheduler]', '[object TaskSignal]'],
      isOfCopy: [true, true],
      isOther: false,
    });
  });

  test('an export that is used is kept', () => {
    expect(sizeOf("import { Mutex } from 'holdfast'; new Mutex('a');")).toBeGreaterThan(10_000);
  });
});
