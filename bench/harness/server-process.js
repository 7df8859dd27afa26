'use strict';

const { spawn } = require('node:child_process');

/**
 * A server that lives as long as this process. If this process is killed, the kernel kills the
 * server: an abandoned measurement does not disturb the next one.
 * @param {string} program
 * @param {string[]} words
 * @param {NodeJS.ProcessEnv} [env]
 */
function startServer(program, words, env = process.env) {
  const guard = ['--pdeathsig', 'KILL', program, ...words];
  const server = spawn('setpriv', guard, { stdio: 'ignore', env });
  process.prependListener('exit', () => server.kill('SIGKILL'));
  return server;
}

module.exports = { startServer };
