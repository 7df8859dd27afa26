'use strict';

// The output of scripts/steps/bundle.js for lib/, in a copy of the package.

const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { decode } = require('@jridgewell/sourcemap-codec');
const {
  withEagerModules,
  withoutIdleBytes,
  writeLibrary,
} = require('../../scripts/steps/bundle.js');
const { MAX_ATTACHED } = require('../../lib/backends/idle-agents.js');
const { textOf } = require('../house/architecture/project-files.js');

const ROOT = path.resolve(__dirname, '../..');

let root;
beforeAll(async () => {
  root = fs.mkdtempSync(path.join(os.tmpdir(), 'holdfast-bundle-'));
  for (const name of ['lib', 'package.json']) {
    fs.cpSync(path.join(ROOT, name), path.join(root, name), { recursive: true });
  }
  fs.symlinkSync(path.join(ROOT, 'build'), path.join(root, 'build'));
  await writeLibrary(root);
  fs.cpSync(path.join(root, 'dist'), path.join(root, 'kept'), { recursive: true });
});
afterAll(() => fs.rmSync(root, { recursive: true, force: true }));
afterEach(() => fs.cpSync(path.join(root, 'kept'), path.join(root, 'dist'), { recursive: true }));

const textIn = (file) => fs.readFileSync(path.join(root, 'dist', file), 'utf8');

/** Runs a program in the copy, with separate buckets, and parses what it printed as JSON. */
function run(program, ...flags) {
  const printed = execFileSync(process.execPath, [...flags, '--eval', program], {
    cwd: root,
    encoding: 'utf8',
    env: { ...process.env, HOLDFAST_DIR: path.join(root, 'buckets') },
  });
  return JSON.parse(printed);
}

/** The files of the package that a program has loaded. */
const LOADED = `Object.keys(require.cache)
  .filter((file) => !file.endsWith('.node'))
  .map((file) => file.slice(process.cwd().length + 1))`;

test('require loads one file', () => {
  const files = run(`require('holdfast'); console.log(JSON.stringify(${LOADED}));`);
  expect(files).toEqual(['dist/index.js']);
});

test.each(['shm:', 'broker:'])(
  'evaluations that nothing refers to are collected, except those that are attached, over %s',
  (url) => {
    const kept = run(
      `process.env.HOLDFAST_URL = '${url}';
      const { createRequire } = require('node:module');
      (async () => {
        const references = [];
        for (let i = 0; i < ${3 * MAX_ATTACHED}; i += 1) {
          for (const key of Object.keys(require.cache)) {
            if (key.endsWith('.js')) delete require.cache[key];
          }
          const load = createRequire(process.cwd() + '/program.js'); // require() keeps all modules
          await load('holdfast').locks.request('a', () => {});
          references.push(Object.values(require.cache).map((it) => new WeakRef(it)));
        }
        for (let i = 0; i < 10; i += 1) {
          await new Promise(setImmediate);
          gc();
        }
        const isKept = (modules) => modules.some((reference) => reference.deref() !== undefined);
        console.log(references.filter(isKept).length);
        process.exit();
      })();`,
      '--expose-gc',
    );
    // The last one is in the cache; the starter of the broker has a listener for its end.
    expect(kept).toBeLessThanOrEqual(MAX_ATTACHED + 2);
  },
);

test.each([
  ["locks.request('a', () => {})"],
  ["locks.request('a', { mode: 'shared', timeout: 1000 }, () => {})"],
  ["openLockManager({ bucket: 'b' }).request('a', () => {})"],
])('the first lock, %s, loads one more of its files, and little of Node', (firstLock) => {
  const { files, modules } = run(`
    const { locks, openLockManager } = require('holdfast');
    ${firstLock}.then(() => {
      const modules = process.moduleLoadList.filter((name) => name.endsWith('worker_threads'));
      console.log(JSON.stringify({ files: ${LOADED}, modules }));
    });
  `);
  expect(files).toEqual(['dist/index.js', 'dist/locks.js']);
  expect(modules).toEqual([]);
});

test('import loads the files of a first lock', () => {
  const [before, after] = run(`
    import('holdfast').then(async ({ scheduler, Mutex, TaskController }) => {
      const before = ${LOADED};
      await scheduler.postTask(() => {}, { signal: new TaskController().signal });
      console.log(JSON.stringify([before, ${LOADED}]));
    });
  `);
  expect(before.toSorted()).toEqual(['dist/index.js', 'dist/locks.js']);
  expect(after).toEqual(before); // the text of the others was read with locks.js
});

test('import runs the code of the exports, and not the rest', () => {
  const names = run(`
    const fs = require('node:fs');
    fs.writeFileSync('dist/rest.js', 'throw new Error("rest.js runs")');
    import('holdfast').then((holdfast) => console.log(JSON.stringify(Object.keys(holdfast))));
  `);
  expect(names).toContain('IdleDeadline');
});

/** Each takes its code from a file that a first lock does not run. */
const USES = {
  requestAll: `locks.requestAll(['a', 'b'], ([{ name }]) => name)`,
  requestSync: `locks.requestSync('a', ({ name }) => name)`,
  inspect: `locks.inspect().then(({ held }) => held.length)`,
  watch: `(async () => {
    const events = locks.watch('w')[Symbol.asyncIterator]();
    locks.request('w', () => {});
    return (await events.next()).value.type;
  })()`,
  acquire: `locks.acquire('a').then((lock) => lock.release())`,
  deadlock: `locks.request('d', () =>
    locks.request('d', { deadlock: 'reject' }, () => {})).catch(({ name }) => name)`,
  reentrant: `locks.request('r', { reentrant: true }, () =>
    locks.request('r', { reentrant: true }, () => 'inside'))`,
  Mutex: `new holdfast.Mutex('m').runExclusive(() => 'inside')`,
  AsyncLock: `new holdfast.AsyncLock(new SharedArrayBuffer(4)).executeLocked(() => 'inside')`,
  runEvery: `(async () => {
    const jobs = new AbortController();
    await holdfast.runEvery('j', { every: 10, signal: jobs.signal }, () => jobs.abort());
  })()`,
  scheduler: `holdfast.scheduler.postTask(() => holdfast.scheduler.yield())`,
  local: `holdfast.createLocalLockManager().request('a', ({ name }) => name)`,
};

/** Takes a lock, changes the package on disk, and continues. */
const afterChange = (change, use) =>
  run(`
    const fs = require('node:fs');
    const holdfast = require('holdfast');
    const { locks, openLockManager } = holdfast;
    (async () => {
      await locks.request('first', () => {});
      ${change};
      return ${use};
    })().then((value) => [value], ({ code, message }) => ({ code, message }))
      .then((result) => {
        console.log(JSON.stringify(result));
        process.exit();
      });
  `);

const manifest = fs.readFileSync(path.join(ROOT, 'package.json'), 'utf8');
const REMOVED = `fs.rmSync('dist', { recursive: true })`;
const REPLACED = `for (const file of fs.readdirSync('dist')) {
  if (!file.endsWith('.js')) continue;
  const text = fs.readFileSync('dist/' + file, 'utf8');
  fs.writeFileSync('dist/' + file, text.replaceAll(/"[0-9a-f]{12}"/g, '"of another"'));
}`;

test.each(Object.keys(USES))('%s works after the package was removed from the disk', (use) => {
  const before = afterChange('', USES[use]);
  expect(before).toHaveLength(1);
  expect(afterChange(REMOVED, USES[use])).toEqual(before);
});

test.each([
  ['a broker', `openLockManager({ url: 'broker://' + process.cwd() + '/b' }).query()`],
  ['metrics', `require('holdfast/metrics').collect()`],
  ['etcd', `openLockManager({ url: 'etcd://127.0.0.1:9' }).query()`],
])('%s of another build is refused', (_part, use) => {
  const { message } = afterChange(REPLACED, use);
  expect(message).toMatch(/^The package holdfast was replaced on disk .*: restart the program/);
});

/** Over a broker that runs: requestSync() starts a thread from a file of the package. */
const afterChangeOfSync = (change) =>
  run(`
    const fs = require('node:fs');
    const { openLockManager } = require('holdfast');
    const warnings = [];
    process.on('warning', ({ message }) => warnings.push(message));
    const locks = openLockManager({ url: 'broker://' + process.cwd() + '/b' });
    locks.request('first', () => {}).then(() => {
      ${change};
      return locks.requestSync('second', () => {});
    }).catch(({ code, message }) => {
      fs.writeFileSync('package.json', ${JSON.stringify(manifest)});
      setImmediate(() => {
        console.log(JSON.stringify({ code, message, warnings }));
        process.exit();
      });
    });
  `);

test.each([
  ['removed', `${REMOVED}; fs.rmSync('package.json')`],
  ['being replaced', REMOVED],
])('requestSync() over a broker names both causes if the package was %s', (_how, change) => {
  const { code, message, warnings } = afterChangeOfSync(change);
  expect(code).toBe('ERR_HOLDFAST_BUNDLED');
  expect(message).toMatch(/removed or replaced on disk while this program runs: restart/);
  expect(message).toMatch(/Or a bundler .*: mark "holdfast" as external/);
  expect(warnings).toEqual([]);
});

test('a broker runs from one file', () => {
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
  expect(run(program)).toBe('dist/broker.js');
});

test.each([[[]], [['--enable-source-maps']]])(
  'a call site is the position of the caller: %j',
  (flags) => {
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
  },
);

test.each([
  ['index.js', `require('holdfast').openLockManager({ capacity: -1 })`],
  ['interfaces.js', `new (require('holdfast').AsyncLock)('no buffer')`],
  ['rest.js', `require('holdfast').openLockManager({ url: 'gopher:' })`],
])('source maps lead from %s to the lines of lib/', (_file, use) => {
  const { file, line } = run(
    `
    try {
      ${use};
    } catch ({ stack }) {
      const [, file, line] = /(lib\\/[\\w/-]+\\.js):(\\d+)/.exec(stack);
      console.log(JSON.stringify({ file, line: Number(line) }));
    }`,
    '--enable-source-maps',
  );
  expect(textOf(file).split('\n')[line - 1]).toMatch(/throw new|new TypeError/);
});

test('of a bundle go indentation and comments, but nothing inside a template', () => {
  const js = ['{', '  // a.js', '  const a = `', '    // b', '  `;', '    f(a); // c', '}'];
  const mappings = [
    [],
    [],
    [[8, 0, 4, 2]],
    [],
    [],
    [
      [4, 0, 9, 2],
      [6, 0, 9, 4],
      [7, 0, 8, 0],
    ],
  ];
  const slim = withoutIdleBytes(js.join('\n'), mappings);
  expect(slim.js.split('\n')).toEqual(['{', 'const a = `', '    // b', '  `;', 'f(a);', '}']);
  expect(decode(slim.mappings).slice(0, 5)).toEqual([
    [],
    [[6, 0, 4, 0]],
    [],
    [],
    [
      [0, 0, 9, 0],
      [3, 0, 8, 0],
    ],
  ]);
});

test('the modules of a first lock are functions in parentheses, and still modules', () => {
  const js = withEagerModules(
    'var require_a = __commonJS({\n  "a.js"(exports, module) {\n    module.exports = 1;\n  }\n});',
  );
  expect(js).toContain('"a.js": (function(exports, module) {');
  const module = { exports: {} };
  const load = (modules) => Object.values(modules)[0](module.exports, module);
  new Function('__commonJS', js)(load);
  expect(module.exports).toBe(1);
  expect(textIn('index.js')).toMatch(/": \(function/);
  expect(textIn('interfaces.js')).toMatch(/": \(function/);
  expect(textIn('rest.js')).not.toMatch(/": \(function/);
});

test('a line is short: an error that ends a process prints the line that threw it', () => {
  const longest = (file) =>
    Math.max(
      ...textIn(file)
        .split('\n')
        .map((line) => line.length),
    );
  const files = ['index', 'locks', 'interfaces', 'rest', 'metrics', 'etcd', 'broker-client'];
  expect(files.filter((file) => longest(`${file}.js`) > 1000)).toEqual([]);
});

test('a file that package.json names is there', () => {
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
  expect(same).toEqual([true, [], Object.keys(require('../../lib/index.js')).length]);
});
