'use strict';

// A bucket with life in it, from real processes: what the pictures in the documentation show.

const { spawn } = require('node:child_process');
const path = require('node:path');

const WORKER = path.join(__dirname, 'scene-worker.js');
const ROLES = [
  ...['backup', 'report', 'report', 'report', 'debit', 'credit', 'cache'],
  ...['work', 'work', 'work', 'work', 'crash', 'stopped'],
];

/**
 * @param {string} directory  of the buckets
 * @returns {{ end: () => void }}
 */
function startScene(directory) {
  let isOver = false;
  /** @type {Set<import('node:child_process').ChildProcess>} */
  const children = new Set();
  const env = { ...process.env, HOLDFAST_DIR: directory };
  const start = (/** @type {string} */ role) => {
    const isStopped = role === 'stopped';
    const args = ['--no-warnings', WORKER, isStopped ? 'backup' : role];
    const child = spawn(process.execPath, args, { env, stdio: 'ignore' });
    children.add(child);
    if (isStopped) setTimeout(() => child.kill('SIGSTOP'), 1_500);
    child.on('exit', () => {
      children.delete(child);
      if (role === 'crash' && !isOver) start(role);
    });
  };
  for (const role of ROLES) start(role);
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
