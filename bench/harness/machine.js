'use strict';

// The machine and the versions on which the figures were measured.

const { execFileSync } = require('node:child_process');
const os = require('node:os');
const path = require('node:path');

const ROOT = path.join(__dirname, '..', '..');

function commit() {
  try {
    const options = { cwd: ROOT, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] };
    return execFileSync('git', ['rev-parse', '--short', 'HEAD'], options).trim();
  } catch {
    return 'unknown';
  }
}

const describeMachine = () => ({
  processor: os.cpus()[0]?.model.trim() ?? 'unknown',
  cores: os.availableParallelism(),
  memory: `${Math.round(os.totalmem() / 2 ** 30)} GiB`,
  system: `${os.type()} ${os.release().replace(/[^\d.].*$/, '')}`,
  node: process.version,
});

/** The moment and the state of the project, for one scenario. */
const describeRun = () => ({
  date: new Date().toISOString().slice(0, 10),
  commit: commit(),
  load: Number(os.loadavg()[0].toFixed(1)),
});

module.exports = { describeMachine, describeRun };
