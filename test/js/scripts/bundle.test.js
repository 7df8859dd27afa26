'use strict';

// What scripts/steps/bundle.js makes of lib/, in a copy of the package.

const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const { SourceMap } = require('node:module');
const os = require('node:os');
const path = require('node:path');
const { bundleBroker } = require('../../../scripts/steps/bundle-broker.js');
const { writeBundle } = require('../../../scripts/steps/bundle.js');
const { mentionsIn } = require('../../../scripts/steps/module-source.js');
const { filesBelow, textOf } = require('../architecture/project-files.js');

const ROOT = path.resolve(__dirname, '../../..');
/** Files of a few lines; index.js has the modules that it runs, too. */
const ENTRIES = ['imported', 'install', 'metrics', 'etcd'];
/** The package has no lib/metrics/. */
const WITHOUT_MAP = ['metricsPart.js'];

let root;
let chunks;
beforeAll(() => {
  root = fs.mkdtempSync(path.join(os.tmpdir(), 'holdfast-bundle-'));
  for (const name of ['lib', 'package.json']) {
    fs.cpSync(path.join(ROOT, name), path.join(root, name), { recursive: true });
  }
  fs.symlinkSync(path.join(ROOT, 'build'), path.join(root, 'build'));
  writeBundle(root);
  chunks = fs
    .readdirSync(path.join(root, 'dist'))
    .filter((file) => file.endsWith('.js') && !ENTRIES.includes(path.parse(file).name));
});
afterAll(() => fs.rmSync(root, { recursive: true, force: true }));

const chunkText = (chunk) => fs.readFileSync(path.join(root, 'dist', chunk), 'utf8');

/** The modules that a file defines. */
const modulesOf = (chunk) =>
  [...chunkText(chunk).matchAll(/^modules\['(.*)'\] = /gm)].map(([, name]) => name);

/** Runs a program in the copy, with buckets of its own, and gives what it printed as JSON. */
function run(program, ...flags) {
  const printed = execFileSync(process.execPath, [...flags, '--eval', program], {
    cwd: root,
    encoding: 'utf8',
    env: { ...process.env, HOLDFAST_DIR: path.join(root, 'buckets') },
  });
  return JSON.parse(printed);
}

/** Programs and threads of their own: the command line tool is one file, the others run in lib/. */
const PROGRAMS = filesBelow('lib', ['.js'])
  .map((file) => file.slice('lib/'.length))
  .filter((file) => /^cli\/|^backends\/broker\/server\/|-thread\.js$/.test(file));

/** What the modules lead to. */
function reachedFrom(modules) {
  const reached = new Set(modules);
  for (const name of reached) {
    for (const { required } of mentionsIn(name, textOf(`lib/${name}`))) {
      if (required?.endsWith('.js')) reached.add(path.posix.join(path.dirname(name), required));
    }
  }
  return reached;
}

test('each module of lib/ but those of programs is in one of its files, once', () => {
  const names = chunks.flatMap(modulesOf);
  const files = filesBelow('lib', ['.js']).map((file) => file.slice('lib/'.length));
  expect(names).toEqual([...new Set(names)]);
  const ofPrograms = reachedFrom(PROGRAMS);
  const missing = files.filter((file) => !names.includes(file) && !ofPrograms.has(file));
  expect(missing).toEqual([]);
});

test('require loads one file, which has no request, no backend and no task', () => {
  const files = run(`
    require('holdfast');
    const files = Object.keys(require.cache).map((file) => file.slice(process.cwd().length + 1));
    console.log(JSON.stringify(files));
  `);
  expect(files).toEqual(['dist/index.js']);
  expect(modulesOf('index.js').toSorted()).toEqual([
    'copies.js',
    'errors.js',
    'index.js',
    'lazy.js',
    'locks/lock-manager.js',
    'locks/lock-managers.js',
    'locks/lock.js',
    'locks/loss-signal.js',
    'locks/request-checks.js',
    'node-internals.js',
    'time.js',
    'webidl.js',
  ]);
});

test('the file of the first lock has no scheduler, no other backend, no search for deadlocks', () => {
  const names = modulesOf('firstLock.js');
  expect(names).toContain('backends/shared-memory/backend.js');
  expect(names.filter((name) => /scheduler\/|deadlock\/|local|broker|etcd/.test(name))).toEqual([]);
});

test('each module exports what it exports in lib/', () => {
  const different = run(`
    const fs = require('node:fs');
    const load = require('./dist/index.js')[Symbol.for('holdfast.load')];
    const different = [];
    for (const chunk of ${JSON.stringify(chunks)}) {
      const text = fs.readFileSync('./dist/' + chunk, 'utf8');
      for (const [, name] of text.matchAll(/^modules\\['(.*)'\\] = /gm)) {
        const [mine, theirs] = [load(name, chunk.replace('.js', '')), require('./lib/' + name)];
        if (Object.keys(mine).join() !== Object.keys(theirs).join()) different.push(name);
      }
    }
    console.log(JSON.stringify(different));
  `);
  expect(different).toEqual([]);
});

test.each([
  ["locks.request('a', () => {})"],
  ["locks.request('a', { mode: 'shared', timeout: 1000 }, () => {})"],
  ["openLockManager({ bucket: 'b' }).request('a', () => {})"],
])('the first lock, %s, loads one more of its files, and little of Node', (firstLock) => {
  const { files, hasWorkerThreads } = run(`
    const { locks, openLockManager } = require('holdfast');
    ${firstLock}.then(() => {
      const files = Object.keys(require.cache).map((file) => file.slice(process.cwd().length + 1));
      const hasWorkerThreads = process.moduleLoadList.includes('NativeModule worker_threads');
      console.log(JSON.stringify({ files, hasWorkerThreads }));
    });
  `);
  expect(files.filter((file) => !file.endsWith('.node'))).toEqual([
    'dist/index.js',
    'dist/firstLock.js',
  ]);
  expect(hasWorkerThreads).toBe(false);
});

test('a broker runs from one file, and from those of lib/ where there is none', () => {
  const program = `
    const fs = require('node:fs');
    const { openLockManager } = require('./dist/index.js');
    const directory = process.cwd() + '/' + process.pid;
    const locks = openLockManager({ url: 'broker://' + directory });
    locks.query().then(() => {
      const { pid } = JSON.parse(fs.readFileSync(directory + '/~default~/claims/broker.1', 'utf8'));
      const words = fs.readFileSync('/proc/' + pid + '/cmdline', 'utf8').split('\\0');
      const script = words.find((word) => word.endsWith('.js'));
      console.log(JSON.stringify(script.slice(process.cwd().length + 1)));
      locks.close();
    });
  `;
  expect(run(program)).toBe('lib/backends/broker/server/main.js');
  bundleBroker(root);
  expect(run(program)).toBe('dist/broker.js');
});

test('import loads what defines its names, and what runs tasks with the first task', () => {
  const loaded = `Object.keys(require.cache).map((file) => require('node:path').basename(file))`;
  const [before, after] = run(`
    import('holdfast').then(async ({ scheduler, Mutex, TaskController }) => {
      const before = ${loaded};
      await scheduler.postTask(() => {}, { signal: new TaskController().signal });
      console.log(JSON.stringify([before, ${loaded}]));
    });
  `);
  expect(before.toSorted()).toEqual(['index.js', 'interfaces.js']);
  expect(after).toContain('schedulerPart.js');
  expect(chunkText('interfaces.js')).not.toContain("modules['scheduler/task-queue.js']");
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

test('the source maps lead each line to its own in lib/', () => {
  for (const chunk of chunks.filter((file) => !WITHOUT_MAP.includes(file))) {
    expectLinesOfLib(chunk);
  }
});

test('what is made of files that the package does not have has no source map', () => {
  const { files } = require('../../../package.json');
  expect(files).toContain('!lib/metrics/');
  expect(chunks).toEqual(expect.arrayContaining(WITHOUT_MAP));
  for (const chunk of chunks) {
    const map = path.join(root, 'dist', `${chunk}.map`);
    expect(fs.existsSync(map)).toBe(!WITHOUT_MAP.includes(chunk));
    expect(chunkText(chunk).includes('sourceMappingURL')).toBe(!WITHOUT_MAP.includes(chunk));
  }
});

function expectLinesOfLib(chunk) {
  const map = new SourceMap(JSON.parse(fs.readFileSync(path.join(root, 'dist', `${chunk}.map`))));
  const isUnchanged = (line) => !/\bload\('|\b__dirname\b|require\('\.\./.test(line);
  const different = [];
  let count = 0;
  for (const [index, line] of chunkText(chunk).split('\n').entries()) {
    const { originalSource, originalLine, generatedLine } = map.findEntry(index, 0);
    if (generatedLine !== index || !isUnchanged(line)) continue;
    count += 1;
    const original = textOf(path.posix.join('dist', originalSource)).split('\n')[originalLine];
    if (original !== line) different.push([index, originalSource, originalLine]);
  }
  expect(count).toBeGreaterThan(100);
  expect(different).toEqual([]);
}

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

test('no file asks what is there when it is loaded', () => {
  const asking = ['index.js', 'index.mjs', 'install.js', 'install.mjs'].filter((file) =>
    /existsSync|require\([^']/.test(chunkText(file)),
  );
  expect(asking).toEqual([]);
});

test('what package.json names is there', () => {
  const { exports, main, types } = JSON.parse(
    fs.readFileSync(path.join(root, 'package.json'), 'utf8'),
  );
  const named = JSON.stringify([exports, main, types]).match(/\.\/[^"]+\.\w+(?=")/g);
  const isThere = (file) =>
    fs.existsSync(path.join(file.startsWith('./types/') ? ROOT : root, file));
  expect(named.length).toBeGreaterThan(8);
  expect(named.filter((file) => !isThere(file))).toEqual([]);
});

test('import and require give the same things', () => {
  const same = run(`
    import('holdfast').then(({ default: all, ...names }) => {
      const core = require('holdfast');
      const different = Object.keys(core).filter((name) => names[name] !== core[name]);
      console.log(JSON.stringify([all === core, different, Object.keys(names).length]));
    });`);
  expect(same).toEqual([true, [], Object.keys(require('../../../lib/index.js')).length]);
});
