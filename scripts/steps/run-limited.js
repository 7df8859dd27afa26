'use strict';

// node run-limited.js MINUTES COMMAND [ARGUMENT…]: runs a program in its own process group and ends
// it when the time is over. SIGTERM comes first, so that the program can report its state; then
// SIGKILL to the whole group, because a blocked thread handles no other signal.

const { spawn } = require('node:child_process');

const TIMED_OUT = 124; // as of timeout(1)
const TELLING_MS = 5000;

/** @param {string[]} argv */
function main([minutes, command, ...args]) {
  const child = spawn(command, args, { stdio: 'inherit', detached: true });
  child.on('error', ({ message }) => {
    console.error(message);
    process.exit(1);
  });
  let isLate = false;
  const timer = setTimeout(
    () => {
      isLate = true;
      child.kill('SIGTERM');
      setTimeout(() => endGroup(), TELLING_MS).unref();
    },
    Number(minutes) * 60_000,
  );
  const endGroup = () => {
    try {
      process.kill(-(/** @type {number} */ (child.pid)), 'SIGKILL');
    } catch {
      // it has ended
    }
  };
  for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP'])) {
    process.on(signal, () => {
      endGroup();
      process.exit(1);
    });
  }
  child.on('exit', (code) => {
    clearTimeout(timer);
    if (isLate) endGroup();
    process.exitCode = isLate ? TIMED_OUT : (code ?? 1);
  });
}

if (require.main === module) main(process.argv.slice(2));

module.exports = { TIMED_OUT };
