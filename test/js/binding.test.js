'use strict';

const { mkdirSync, mkdtempSync, rmSync, writeFileSync } = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { BindingError, loadBinding } = require('../../lib/binding.js');

let root;
beforeEach(() => {
  root = mkdtempSync(path.join(os.tmpdir(), 'holdfast-binding-'));
});
afterEach(() => rmSync(root, { recursive: true }));

/** Puts something that is no addon where an addon may be. */
function plant(...segments) {
  const file = path.join(root, ...segments);
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, 'not a shared object');
  return file;
}

/** The error of loading from `root`, as on Linux unless told otherwise. */
function failure(where) {
  try {
    loadBinding({ root, platform: 'linux', arch: 'x64', ...where });
  } catch (error) {
    return error;
  }
  throw new Error('the addon was loaded');
}

test('loads the built addon, and the same one again', () => {
  expect(loadBinding()).toBe(loadBinding());
});

test('an addon that is missing is an error that says where it was looked for and what to run', () => {
  const error = failure();
  expect(error).toBeInstanceOf(BindingError);
  expect(error.code).toBe('ERR_HOLDFAST_NOT_BUILT');
  expect(error.message).toContain(path.join(root, 'build', 'Release', 'holdfast.node'));
  expect(error.message).toContain(path.join(root, 'prebuilds', 'linux-x64', 'holdfast.node'));
  expect(error.message).toContain('npm run build');
});

test('an addon that cannot be loaded is an error with the reason of the loader', () => {
  const file = plant('build', 'Release', 'holdfast.node');
  const error = failure();
  expect(error.code).toBe('ERR_HOLDFAST_NOT_LOADED');
  expect(error.message).toContain(file);
  expect(error.cause.code).toBe('ERR_DLOPEN_FAILED');
});

test('an addon that was built here goes before one that was delivered', () => {
  plant('prebuilds', 'linux-x64', 'holdfast.node');
  const built = plant('build', 'Release', 'holdfast.node');
  expect(failure().message).toContain(built);
});

test('a delivered addon is looked for by platform and processor', () => {
  const delivered = plant('prebuilds', 'linux-arm64', 'holdfast.node');
  expect(failure({ arch: 'arm64' }).message).toContain(delivered);
  expect(failure({ arch: 'x64' }).code).toBe('ERR_HOLDFAST_NOT_BUILT');
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
])('%s is refused before the addon is touched, with what to do', (name, versions) => {
  plant('build', 'Release', 'holdfast.node');
  const error = failure({ versions });
  expect(error.code).toBe('ERR_HOLDFAST_RUNTIME');
  expect(error.cause).toBeUndefined(); // the loader was not asked
  expect(error.message).toContain(name);
  expect(error.message).toContain('HOLDFAST_URL=broker:');
});
