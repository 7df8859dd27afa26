'use strict';

// A bucket with life in it, from real processes: what the pictures in the documentation show.

const { spawn } = require('node:child_process');

const ROLES = [
  ...['report', 'report', 'report', 'debit', 'credit', 'import', 'thumbnails', 'cache'],
  ...['work', 'work', 'work', 'work', 'crash'],
];
/** The others queue behind it. */
const FIRST = 'backup';
const HEAD_START_MS = 1_000;

/**
 * @param {string} directory  of the buckets
 * @returns {{ end: () => void }}
 */
function startScene(directory) {
  let isOver = false;
  /** @type {Set<import('node:child_process').ChildProcess>} */
  const children = new Set();
  // Command lines are shown: a name without a folder looks the same on all machines.
  const env = { ...process.env, HOLDFAST_DIR: directory, NODE_NO_WARNINGS: '1' };
  const options = /** @type {const} */ ({ argv0: 'node', cwd: __dirname, env, stdio: 'ignore' });
  const start = (/** @type {string} */ role) => {
    if (isOver) return;
    const child = spawn(process.execPath, ['scene-worker.js', role], options);
    children.add(child);
    child.on('exit', () => {
      children.delete(child);
      if (role === 'crash') start(role);
    });
  };
  start(FIRST);
  setTimeout(() => ROLES.forEach(start), HEAD_START_MS);
  const end = () => {
    isOver = true;
    for (const child of children) child.kill('SIGKILL');
  };
  return { end };
}

module.exports = { startScene };

if (require.main === module) {
  const scene = startScene(/** @type {string} */ (process.env.HOLDFAST_DIR));
  for (const signal of ['SIGINT', 'SIGTERM'])
    process.on(signal, () => (scene.end(), process.exit()));
}
