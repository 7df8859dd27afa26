'use strict';

const { spawnSync } = require('node:child_process');
const { mkdirSync, mkdtempSync, rmSync, writeFileSync } = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { BindingError, loadBinding } = require('../../lib/binding.js');

const LIBRARY = path.resolve(__dirname, '../../lib/index.js');
const BUILT = path.resolve(__dirname, '../../build/Release');

/** The value for the run of the tests, which may name a delivered addon. */
const { HOLDFAST_BINARY } = process.env;

let root;
beforeEach(() => {
  delete process.env.HOLDFAST_BINARY;
  root = mkdtempSync(path.join(os.tmpdir(), 'holdfast-binding-'));
  // The file by which the package differs from the folder of a bundle.
  writeFileSync(path.join(root, 'package.json'), '{ "name": "holdfast" }');
});
afterEach(() => {
  rmSync(root, { recursive: true });
  delete process.env.HOLDFAST_BINARY;
  if (HOLDFAST_BINARY !== undefined) process.env.HOLDFAST_BINARY = HOLDFAST_BINARY;
});

/** Puts something that is no addon where an addon may be. */
function plant(...segments) {
  const file = path.join(root, ...segments);
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, 'not a shared object');
  return file;
}

const MACHINE = { platform: 'linux', arch: 'x64', library: () => 'glibc' };

/** The error of loading from `root`, on Linux by default. */
function failure({ versions, ...machine } = {}) {
  try {
    loadBinding({ root, versions, machine: { ...MACHINE, ...machine } });
  } catch (error) {
    return error;
  }
  throw new Error('the addon was loaded');
}

test('loads the built addon, and the same one again', () => {
  expect(loadBinding()).toBe(loadBinding());
});

test('an addon that is missing is an error that says where it was searched for and what to run', () => {
  const error = failure();
  expect(error).toBeInstanceOf(BindingError);
  expect(error.code).toBe('ERR_HOLDFAST_NOT_BUILT');
  expect(error.message).toContain(path.join(root, 'build', 'Release', 'holdfast.node'));
  expect(error.message).toContain(path.join(root, 'prebuilds', 'linux-x64-glibc', 'holdfast.node'));
  expect(error.message).toContain('npx holdfast-build');
});

test('in a checkout, what to run is the build of the checkout', () => {
  writeFileSync(path.join(root, 'binding.gyp'), '{}');
  expect(failure().message).toContain(`Run "npm run build" in ${root}`);
});

test('an addon that cannot be loaded is an error with the reason of the loader', () => {
  const file = plant('build', 'Release', 'holdfast.node');
  const error = failure();
  expect(error.code).toBe('ERR_HOLDFAST_NOT_LOADED');
  expect(error.message).toContain(file);
  expect(error.cause.code).toBe('ERR_DLOPEN_FAILED');
});

test('an addon that was built here goes before a delivered one', () => {
  plant('prebuilds', 'linux-x64-glibc', 'holdfast.node');
  const built = plant('build', 'Release', 'holdfast.node');
  expect(failure().message).toContain(built);
});

test('a delivered addon is searched for by platform, processor and C library', () => {
  const delivered = plant('prebuilds', 'linux-arm64-musl', 'holdfast.node');
  const library = () => 'musl';
  expect(failure({ arch: 'arm64', library }).message).toContain(delivered);
  expect(failure({ arch: 'x64', library }).code).toBe('ERR_HOLDFAST_NOT_BUILT');
  expect(failure({ arch: 'arm64' }).code).toBe('ERR_HOLDFAST_NOT_BUILT');
});

describe('HOLDFAST_BINARY', () => {
  test('names the addon, wherever the package is', () => {
    process.env.HOLDFAST_BINARY = path.join(BUILT, 'holdfast.node');
    expect(loadBinding({ root, machine: MACHINE })).toHaveProperty('openLoopHook');
  });

  test('may be relative to the working directory', () => {
    process.env.HOLDFAST_BINARY = path.relative(process.cwd(), path.join(BUILT, 'holdfast.node'));
    expect(loadBinding({ root, machine: MACHINE })).toHaveProperty('openLoopHook');
  });

  test('that names no addon is an error, also where there is another one', () => {
    plant('build', 'Release', 'holdfast.node');
    process.env.HOLDFAST_BINARY = path.join(root, 'absent.node');
    const error = failure();
    expect(error.code).toBe('ERR_HOLDFAST_NOT_LOADED');
    expect(error.message).toContain(process.env.HOLDFAST_BINARY);
    expect(error.message).toContain('HOLDFAST_BINARY');
  });

  test('that is empty counts as absent', () => {
    process.env.HOLDFAST_BINARY = '';
    expect(failure().code).toBe('ERR_HOLDFAST_NOT_BUILT');
  });
});

test('a platform without a native part is named, with the way round it', () => {
  const error = failure({ platform: 'win32' });
  expect(error.code).toBe('ERR_HOLDFAST_PLATFORM');
  expect(error.message).toContain('win32-x64');
  expect(error.message).toContain('HOLDFAST_FALLBACK=local');
});

test('a failure is not kept: the next call looks again', () => {
  expect(failure().code).toBe('ERR_HOLDFAST_NOT_BUILT');
  plant('build', 'Release', 'holdfast.node');
  expect(failure().code).toBe('ERR_HOLDFAST_NOT_LOADED');
});

test.each([
  ['Bun', { node: '26.3.0', bun: '1.4.5' }],
  ['Deno', { node: '26.3.0', deno: '2.9.6' }],
  ['Node.js 20.2.0 with libuv 1.44.2', { node: '20.2.0', uv: '1.44.2' }],
])('%s is refused before the addon is touched, with what to do', (name, versions) => {
  plant('build', 'Release', 'holdfast.node');
  const error = failure({ versions });
  expect(error.code).toBe('ERR_HOLDFAST_RUNTIME');
  expect(error.cause).toBeUndefined(); // the loader was not asked
  expect(error.message).toContain(name);
  expect(error.message).toContain('HOLDFAST_URL=broker:');
});

describe('a Node that may not load addons', () => {
  const PROGRAM = `const { openLockManager } = require(${JSON.stringify(LIBRARY)});
    openLockManager().query().catch(({ code, message }) => console.log(code, message));`;
  const permission = process.allowedNodeEnvironmentFlags.has('--permission')
    ? '--permission'
    : '--experimental-permission';
  const all = `${permission} --allow-fs-read=*`;

  /** The output of the program with these options. */
  function outputWith(options) {
    const env = { ...process.env, HOLDFAST_URL: 'shm:', NODE_OPTIONS: '' };
    const args = [...options.split(' '), '-e', PROGRAM];
    return spawnSync(process.execPath, args, { encoding: 'utf8', env }).stdout;
  }

  test.each([
    ['--no-addons', /Start Node without --no-addons\./],
    [all, /start Node with --allow-addons and --allow-fs-read=/],
    [
      `${permission} --allow-addons --allow-fs-read=${path.dirname(LIBRARY)}`,
      /start Node with --allow-addons and --allow-fs-read=/,
    ],
  ])('with %s gets the option to change', (options, advice) => {
    const output = outputWith(options);
    expect(output).toMatch(/^ERR_HOLDFAST_NOT_LOADED /);
    expect(output).toMatch(advice);
    expect(output).not.toMatch(/build"/);
  });
});
