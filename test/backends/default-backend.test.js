'use strict';

const { mkdtempSync, rmSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');

const BINDING = '../../lib/binding.js';
const DEFAULT_BACKEND = '../../lib/backends/default-backend.js';

let openDefaultBackend;
let warnings;

/** Loads the module anew, with a native part that cannot be loaded. */
function loadWithoutNativePart() {
  jest.resetModules();
  const { BindingError } = jest.requireActual(BINDING);
  const failure = new BindingError('ERR_HOLDFAST_NOT_BUILT', 'not built.');
  jest.doMock(BINDING, () => ({
    BindingError,
    loadBinding() {
      throw failure;
    },
  }));
  ({ openDefaultBackend } = require(DEFAULT_BACKEND));
  return failure;
}

beforeEach(() => {
  warnings = jest.spyOn(process, 'emitWarning').mockImplementation(() => {});
});
afterEach(() => {
  delete process.env.HOLDFAST_FALLBACK;
  jest.dontMock(BINDING);
  warnings.mockRestore();
});

const isMissed = (backend) => {
  const request = { name: 'a', mode: 'exclusive', ifAvailable: true, steal: false };
  return backend.enqueue(request) === 2;
};

test.each([undefined, '', 'shared-memory', '1'])(
  'with HOLDFAST_FALLBACK=%p a native part that cannot be loaded is an error',
  (value) => {
    if (value !== undefined) process.env.HOLDFAST_FALLBACK = value;
    const failure = loadWithoutNativePart();
    expect(() => openDefaultBackend({})).toThrow(failure);
    expect(warnings).not.toHaveBeenCalled();
  },
);

test('with HOLDFAST_FALLBACK=local it is one warning', () => {
  process.env.HOLDFAST_FALLBACK = 'local';
  loadWithoutNativePart();
  openDefaultBackend({}).close();
  openDefaultBackend({ bucket: 'other' }).close();
  expect(warnings.mock.calls).toEqual([
    [expect.stringContaining('not built.'), expect.objectContaining({ code: 'HOLDFAST_FALLBACK' })],
  ]);
});

test('the agents of a bucket share their locks in the fallback, agents of another one do not', () => {
  process.env.HOLDFAST_FALLBACK = 'local';
  loadWithoutNativePart();
  const [one, same, other] = [{}, { bucket: 'default' }, { bucket: 'other' }].map((options) =>
    openDefaultBackend(options),
  );
  expect([isMissed(one), isMissed(same), isMissed(other)]).toEqual([false, true, false]);
});

test('an error that is no matter of loading is an error in the fallback too', () => {
  process.env.HOLDFAST_FALLBACK = 'local';
  jest.resetModules();
  jest.doMock(BINDING, () => ({
    ...jest.requireActual(BINDING),
    loadBinding() {
      throw new DOMException('foreign owner', 'SecurityError');
    },
  }));
  ({ openDefaultBackend } = require(DEFAULT_BACKEND));
  expect(() => openDefaultBackend({})).toThrow(expect.objectContaining({ name: 'SecurityError' }));
});

const PLATFORM = Object.getOwnPropertyDescriptor(process, 'platform');

describe('on a platform without a native part', () => {
  let directory;
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'holdfast-'));
    Object.defineProperty(process, 'platform', { ...PLATFORM, value: 'darwin' });
    jest.resetModules();
    ({ openDefaultBackend } = require(DEFAULT_BACKEND));
  });
  afterEach(() => {
    Object.defineProperty(process, 'platform', PLATFORM);
    rmSync(directory, { recursive: true, force: true });
  });

  test('a broker is the default', () => {
    const { BrokerBackend } = require('../../lib/backends/broker/backend.js');
    const backend = openDefaultBackend({ directory });
    expect(backend).toBeInstanceOf(BrokerBackend);
    backend.close();
  });

  test('HOLDFAST_FALLBACK=local is one thread, with a warning', () => {
    process.env.HOLDFAST_FALLBACK = 'local';
    openDefaultBackend({}).close();
    expect(warnings).toHaveBeenCalledTimes(1);
  });
});
