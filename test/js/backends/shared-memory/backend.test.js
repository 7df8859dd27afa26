'use strict';

const { mkdtempSync, rmSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { SharedMemoryBackend } = require('../../../../lib/backends/shared-memory/backend.js');
const { describeBackendContract } = require('../../../support/backend-contract.js');
const { countsOf } = require('../../../support/process-counts.js');

let directory;

describeBackendContract(
  'SharedMemoryBackend',
  () => {
    directory = mkdtempSync(join(tmpdir(), 'holdfast-'));
    const open = () => new SharedMemoryBackend({ directory, sweeps: false });
    return { first: open(), second: open() };
  },
  () => rmSync(directory, { recursive: true, force: true }),
);

test('close() gives its descriptors back at once, not in a later turn of the loop', () => {
  const place = mkdtempSync(join(tmpdir(), 'holdfast-'));
  const open = () => new SharedMemoryBackend({ directory: place, sweeps: false });
  const other = open(); // what the process has once, whoever closes
  const { descriptors } = countsOf();
  const backend = open();
  expect(countsOf().descriptors).toBeGreaterThan(descriptors);
  backend.close();
  expect(countsOf().descriptors).toBe(descriptors);
  other.close();
  rmSync(place, { recursive: true });
});
