'use strict';

// A separate program, in a copy of the package beside which there is no gRPC library.

const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { writeLibrary } = require('../../scripts/steps/bundle.js');

const ROOT = path.resolve(__dirname, '..', '..');
const URL_OF_NOBODY = 'etcd://127.0.0.1:9';
const MISSING = expect.stringMatching(/InvalidStateError.* npm install @grpc\/grpc-js$/);

let root;
beforeAll(async () => {
  root = fs.mkdtempSync(path.join(os.tmpdir(), 'holdfast-without-grpc-'));
  for (const name of ['lib', 'package.json']) {
    fs.cpSync(path.join(ROOT, name), path.join(root, name), { recursive: true });
  }
  await writeLibrary(root);
});
afterAll(() => fs.rmSync(root, { recursive: true, force: true }));

/** Gives what an async function in the package returns; what it throws, as text. */
function run(body, env = {}) {
  const program = `(async () => { ${body} })()
    .catch((error) => String(error))
    .then((value) => console.log(JSON.stringify(value)));`;
  const printed = execFileSync(process.execPath, ['--eval', program], {
    cwd: root,
    encoding: 'utf8',
    env: { ...process.env, NODE_PATH: '', ...env },
  });
  return JSON.parse(printed);
}

test('there is no gRPC library', () => {
  expect(run(`return require.resolve('@grpc/grpc-js')`)).toMatch(/Cannot find module/);
});

test('a request says which package is missing', () => {
  const request = `return require('holdfast').locks.request('a', () => 'granted')`;
  expect(run(request, { HOLDFAST_URL: URL_OF_NOBODY })).toEqual(MISSING);
});

test.each([
  ['requestSync', `.requestSync('a', () => 'granted')`],
  ['isLocked', `.isLocked('a')`],
  ['query', `.query()`],
])('so does %s()', (_what, call) => {
  const manager = `require('holdfast').openLockManager({ url: '${URL_OF_NOBODY}' })`;
  expect(run(`return ${manager}${call}`)).toEqual(MISSING);
});

test('so does the examination of a cluster', () => {
  const examine = `return require('holdfast/etcd').examineEtcd('${URL_OF_NOBODY}')`;
  expect(run(examine)).toEqual(MISSING);
});
