'use strict';

const { mkdtempSync, rmSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { SharedMemoryBackend } = require('../../../lib/backends/shared-memory.js');
const { describeBackendContract } = require('../../support/backend-contract.js');

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
