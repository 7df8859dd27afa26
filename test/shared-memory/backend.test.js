'use strict';

const { mkdtempSync, rmSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { SharedMemoryBackend } = require('../../lib/backends/shared-memory/backend.js');
const { describeBackendContract } = require('../support/backend-contract.js');
const { countsOf } = require('../support/process-counts.js');

let folder;

describeBackendContract(
  'SharedMemoryBackend',
  () => {
    folder = mkdtempSync(join(tmpdir(), 'holdfast-'));
    const open = () => new SharedMemoryBackend({ directory: folder, sweeps: false });
    return { first: open(), second: open() };
  },
  { cleanUp: () => rmSync(folder, { recursive: true, force: true }) },
);

test('close() gives its descriptors back at once, not in a later turn of the loop', () => {
  const root = mkdtempSync(join(tmpdir(), 'holdfast-'));
  const open = () => new SharedMemoryBackend({ directory: root, sweeps: false });
  const other = open(); // has the descriptors that a process has once
  const { descriptors } = countsOf();
  const backend = open();
  expect(countsOf().descriptors).toBeGreaterThan(descriptors);
  backend.close();
  expect(countsOf().descriptors).toBe(descriptors);
  other.close();
  rmSync(root, { recursive: true });
});

describe('a bucket that is there already', () => {
  const MIB = 2 ** 20;
  let root;
  let first;
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'holdfast-'));
    first = new SharedMemoryBackend({ directory: root, capacity: MIB, sweeps: false });
  });
  afterEach(() => {
    first.close();
    rmSync(root, { recursive: true });
  });

  test('keeps its capacity, and who asks for another one is warned', () => {
    const emitWarning = jest.spyOn(process, 'emitWarning').mockImplementation();
    const second = new SharedMemoryBackend({ directory: root, capacity: 4 * MIB, sweeps: false });
    expect(second.usage().capacity).toBe(MIB);
    expect(emitWarning.mock.calls).toEqual([
      [
        expect.stringMatching(
          /'default' in .* capacity of 1048576 bytes .* 4194304 were requested/,
        ),
        { type: 'HoldfastWarning', code: 'HOLDFAST_CAPACITY' },
      ],
    ]);
    second.close();
    emitWarning.mockRestore();
  });

  test.each([MIB, undefined])(
    'does not warn who asks for the same or for none (%s)',
    (capacity) => {
      const emitWarning = jest.spyOn(process, 'emitWarning').mockImplementation();
      new SharedMemoryBackend({ directory: root, capacity, sweeps: false }).close();
      expect(emitWarning).not.toHaveBeenCalled();
      emitWarning.mockRestore();
    },
  );
});
