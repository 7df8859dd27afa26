'use strict';

const { spawn, spawnSync } = require('node:child_process');
const { once } = require('node:events');

/** Tracing processes that are not one's own children takes root, as systems are set up. */
const canSlowDisks =
  process.getuid?.() === 0 && spawnSync('strace', ['--version']).error === undefined;

/**
 * Delays each write of a process to its disk by a second; resolves when one has been delayed.
 * @param {{ pid: number }} process
 * @returns {Promise<{ end: () => Promise<void> }>}
 */
async function slowDiskOf({ pid }) {
  const what = ['trace=fdatasync,fsync', 'inject=fdatasync,fsync:delay_enter=1000000'];
  const options = what.flatMap((it) => ['-e', it]);
  const strace = spawn('strace', ['-f', '-qq', ...options, '-p', String(pid)]);
  const closed = once(strace, 'close');
  strace.stderr.setEncoding('utf8');
  let trace = '';
  for await (const chunk of strace.stderr.iterator({ destroyOnReturn: false })) {
    trace += chunk;
    if (trace.includes('(DELAYED)')) break;
  }
  if (!trace.includes('(DELAYED)')) throw new Error(`strace has delayed nothing: ${trace}`);
  strace.stderr.resume();
  return {
    end: async () => {
      strace.kill('SIGINT');
      await closed;
    },
  };
}

module.exports = { canSlowDisks, slowDiskOf };
