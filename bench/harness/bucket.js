'use strict';

// Directories in memory for what the contenders put on a file system: lock tables, lock files,
// sockets. The starter of a process for a measurement makes and removes its directory, also when
// the process did not end in order.

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');

const VARIABLE = 'HOLDFAST_BENCH_DIRECTORY';

const parentDirectory = () => (fs.existsSync('/dev/shm') ? '/dev/shm' : os.tmpdir());

/** For a process to be started: what it needs in its environment, and what removes all it made. */
function makeRoom() {
  const directory = fs.mkdtempSync(path.join(parentDirectory(), 'holdfast-bench-'));
  fs.chmodSync(directory, 0o711); // servers that refuse to run as root go through it
  return {
    env: { ...process.env, [VARIABLE]: directory },
    remove: () => fs.rmSync(directory, { recursive: true, force: true }),
  };
}

/** @type {string[]} of this process alone */
const directories = [];

/** A new directory, which the end of this process removes. */
function makeDirectory() {
  const parent = process.env[VARIABLE] ?? parentDirectory();
  const directory = fs.mkdtempSync(path.join(parent, 'holdfast-bench-'));
  if (directories.length === 0) process.on('exit', removeDirectories);
  directories.push(directory);
  return directory;
}

function removeDirectories() {
  for (const directory of directories) fs.rmSync(directory, { recursive: true, force: true });
}

module.exports = { makeDirectory, makeRoom };
