'use strict';

// What scripts/steps/bundle.js makes of lib/, in a copy of the package.

const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const { SourceMap } = require('node:module');
const os = require('node:os');
const path = require('node:path');
const { writeBundle } = require('../../../scripts/steps/bundle.js');
const { filesBelow, textOf } = require('../architecture/project-files.js');

const ROOT = path.resolve(__dirname, '../../..');
const CHUNKS = ['index.js', 'interfaces.js', 'rest.js'];
/** They choose between lib/ and the bundle. */
const ENTRY_POINTS = ['main.js', 'install.js'];

let root;
beforeAll(() => {
  root = fs.mkdtempSync(path.join(os.tmpdir(), 'holdfast-bundle-'));
  for (const name of ['lib', 'package.json']) {
    fs.cpSync(path.join(ROOT, name), path.join(root, name), { recursive: true });
  }
  fs.symlinkSync(path.join(ROOT, 'build'), path.join(root, 'build'));
  writeBundle(root);
});
afterAll(() => fs.rmSync(root, { recursive: true, force: true }));

const chunkText = (chunk) => fs.readFileSync(path.join(root, 'dist', chunk), 'utf8');

/** Runs a program in the copy, with buckets of its own, and gives what it printed as JSON. */
function run(program, ...flags) {
  const printed = execFileSync(process.execPath, [...flags, '--eval', program], {
    cwd: root,
    encoding: 'utf8',
    env: { ...process.env, HOLDFAST_DIR: path.join(root, 'buckets') },
  });
  return JSON.parse(printed);
}

test('each module of lib/ is in one of its files, once', () => {
  const names = CHUNKS.flatMap((chunk) =>
    [...chunkText(chunk).matchAll(/^modules\['(.*)'\] = /gm)].map(([, name]) => name),
  );
  const files = filesBelow('lib', ['.js']).map((file) => file.slice('lib/'.length));
  expect(names.sort()).toEqual(files.filter((file) => !ENTRY_POINTS.includes(file)).sort());
});

test('the first of its files has no scheduler, no other backend and no search for deadlocks', () => {
  const heads = chunkText('index.js').match(/^modules\['.*'\] = /gm);
  expect(heads.length).toBeGreaterThan(10);
  expect(heads.filter((head) => /scheduler\/|deadlock\/|local/.test(head))).toEqual([]);
});

test('each module exports what it exports in lib/', () => {
  // The same, but giving away how it loads.
  const table = chunkText('index.js').replace(
    "module.exports = load('index.js');",
    'module.exports = load;',
  );
  fs.writeFileSync(path.join(root, 'dist', 'table.js'), table);
  const different = run(`
    const fs = require('node:fs');
    const load = require('./dist/table.js');
    const different = [];
    for (const chunk of ${JSON.stringify(CHUNKS)}) {
      const text = fs.readFileSync('./dist/' + chunk, 'utf8');
      for (const [, name] of text.matchAll(/^modules\\['(.*)'\\] = /gm)) {
        const [mine, theirs] = [load(name, './' + chunk), require('./lib/' + name)];
        if (Object.keys(mine).join() !== Object.keys(theirs).join()) different.push(name);
      }
    }
    console.log(JSON.stringify(different));
  `);
  expect(different).toEqual([]);
});

test('the first lock loads one of its files, and little of Node', () => {
  const { files, hasWorkerThreads } = run(`
    const { locks } = require('holdfast');
    locks.request('a', () => {}).then(() => {
      const files = Object.keys(require.cache).map((file) => file.slice(process.cwd().length + 1));
      const hasWorkerThreads = process.moduleLoadList.includes('NativeModule worker_threads');
      console.log(JSON.stringify({ files, hasWorkerThreads }));
    });
  `);
  expect(files.filter((file) => !file.endsWith('.node'))).toEqual(['lib/main.js', 'dist/index.js']);
  expect(hasWorkerThreads).toBe(false);
});

test.each([[[]], [['--enable-source-maps']]])('a call site is that of the caller: %j', (flags) => {
  const file = path.join(root, 'caller.js');
  fs.writeFileSync(
    file,
    `module.exports = (locks) =>
      locks.request('a', async () => (await locks.inspect()).held.map((held) => held.callSite));`,
  );
  const sites = run(
    `
    const locks = require('holdfast').openLockManager({ callSites: true });
    require('./caller.js')(locks).then((sites) => console.log(JSON.stringify(sites)));`,
    ...flags,
  );
  expect(sites).toEqual([`${file}:2:13`]);
});

test.each(CHUNKS)('the source map of %s leads each line to its own in lib/', (chunk) => {
  const map = new SourceMap(JSON.parse(fs.readFileSync(path.join(root, 'dist', `${chunk}.map`))));
  const isUnchanged = (line) => !/\bload\('|\b__dirname\b/.test(line);
  const different = [];
  let count = 0;
  for (const [index, line] of chunkText(chunk).split('\n').entries()) {
    const { originalSource, originalLine, generatedLine } = map.findEntry(index, 0);
    if (generatedLine !== index || !isUnchanged(line)) continue;
    count += 1;
    const original = textOf(path.posix.join('dist', originalSource)).split('\n')[originalLine];
    if (original !== line) different.push([index, originalSource, originalLine]);
  }
  expect(count).toBeGreaterThan(1000);
  expect(different).toEqual([]);
});

test('source maps lead to the lines of lib/', () => {
  const { file, line } = run(
    `
    try {
      require('holdfast').openLockManager({ capacity: -1 });
    } catch ({ stack }) {
      const [, file, line] = /(lib\\/[\\w/-]+\\.js):(\\d+)/.exec(stack);
      console.log(JSON.stringify({ file, line: Number(line) }));
    }`,
    '--enable-source-maps',
  );
  expect(textOf(file).split('\n')[line - 1]).toContain('throw new TypeError');
});
