'use strict';

// A directory in memory for what the contenders put on a file system: lock tables, lock files,
// sockets. It goes with the process.

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');

function makeDirectory() {
  const parent = fs.existsSync('/dev/shm') ? '/dev/shm' : os.tmpdir();
  const directory = fs.mkdtempSync(path.join(parent, 'holdfast-bench-'));
  process.on('exit', () => fs.rmSync(directory, { recursive: true, force: true }));
  return directory;
}

module.exports = { makeDirectory };
