'use strict';

const { spawnSync } = require('node:child_process');
const fs = require('node:fs');
const { tmpdir } = require('node:os');
const path = require('node:path');

// The demonstration and the examples, on the runtime of the tests, with the locks of a broker.

const ROOT = path.join(__dirname, '..', '..');
const RUN = process.versions.deno === undefined ? [] : ['run', '-A'];

let directory;
beforeEach(() => {
  directory = fs.mkdtempSync(path.join(tmpdir(), 'holdfast-'));
});
afterEach(() => fs.rmSync(directory, { recursive: true, force: true }));

test.each([
  ['demo', ['--increments', '300']],
  ['examples/refresh-token', ['--seconds', '3']],
  ['examples/fencing', []],
  ['examples/run-every', []],
  ['examples/single-writer', ['--entries', '30']],
])('%s', (name, options) => {
  const program = path.join(ROOT, name, 'main.js');
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [...RUN, program, '--json', ...options],
    {
      encoding: 'utf8',
      env: { ...process.env, HOLDFAST_URL: 'broker:', HOLDFAST_DIR: directory },
    },
  );
  const isWell = status === 0 && !stderr.includes('Error');
  expect([status, isWell ? '' : stderr + stdout]).toEqual([0, '']);
  expect(JSON.parse(stdout)).toMatchObject({ ok: true });
});

const isNode = process.versions.bun === undefined && process.versions.deno === undefined;
// Node loads the native part, and has nothing to refuse.
(isNode ? test.skip : test)('locks in shared memory are refused by an error to be caught', () => {
  const program = `
    const { openLockManager } = require(${JSON.stringify(path.join(ROOT, 'lib', 'index.js'))});
    const locks = openLockManager({ url: 'shm://${directory}' });
    locks.request('a', () => {}).catch(({ code }) => console.log(code));`;
  const file = path.join(directory, 'program.cjs');
  fs.writeFileSync(file, program);
  const { status, stdout } = spawnSync(process.execPath, [...RUN, file], { encoding: 'utf8' });
  expect([status, stdout.trim()]).toEqual([0, 'ERR_HOLDFAST_RUNTIME']);
});
