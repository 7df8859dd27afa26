'use strict';

// A single executable application of Node, made by Node itself (--build-sea, since 25.5).

const { spawnSync } = require('node:child_process');
const { mkdtempSync, rmSync, writeFileSync } = require('node:fs');
const { tmpdir } = require('node:os');
const path = require('node:path');
const { buildSync } = require('esbuild');

const LIBRARY = path.resolve(__dirname, '../../lib/index.js');
const BINARY = path.resolve(__dirname, '../../build/Release/holdfast.node');
const canBuild = Number(process.versions.node.split('.')[0]) >= 26;
if (!canBuild) console.warn('Skipped: single executable applications: this Node makes none');

let folder;
beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'holdfast-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

(canBuild ? test : test.skip)('names what it lacks, and works with it', () => {
  const file = (name) => path.join(folder, name);
  const contents = `require(${JSON.stringify(LIBRARY)}).locks.request('a', () => console.log('in'))
    .catch(({ code, message }) => console.log(code, message));`;
  buildSync({
    stdin: { contents, resolveDir: folder },
    ...{ bundle: true, platform: 'node', outfile: file('main.js'), logLevel: 'error' },
  });
  const config = { main: file('main.js'), output: file('app') };
  writeFileSync(file('sea.json'), JSON.stringify(config));
  const built = spawnSync(process.execPath, ['--build-sea', file('sea.json')]);
  expect(String(built.stderr)).not.toMatch(/rror/);
  const run = (env) =>
    spawnSync(file('app'), [], {
      ...{ cwd: folder, encoding: 'utf8' },
      env: { ...process.env, HOLDFAST_URL: 'shm:', HOLDFAST_DIR: file('locks'), ...env },
    }).stdout;
  expect(run({ HOLDFAST_BINARY: '' })).toMatch(
    /^ERR_HOLDFAST_BUNDLED .*single executable application.*set HOLDFAST_BINARY to its path/,
  );
  expect(run({ HOLDFAST_BINARY: BINARY })).toBe('in\n');
});
