'use strict';

// A registry on this machine that knows holdfast and nothing else.

const { execFileSync, spawn } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const { once } = require('node:events');
const { ROOT } = require('../../scripts/steps/run.js');

const VERDACCIO = path.join(
  ROOT,
  'test',
  'install',
  'tools',
  'managers',
  'node_modules',
  'verdaccio',
  'bin',
  'verdaccio',
);
const USER = 'publisher';

/** @param {string} folder */
function writeConfiguration(folder) {
  const file = path.join(folder, 'verdaccio.yaml');
  const lines = [
    `storage: ${path.join(folder, 'storage')}`,
    'auth: { htpasswd: { file: ./htpasswd, max_users: 1 } }',
    "packages: { '**': { access: $all, publish: $all, unpublish: $all } }",
    'log: { type: stdout, format: pretty, level: warn }',
  ];
  fs.writeFileSync(file, `${lines.join('\n')}\n`);
  return file;
}

/** @param {import('node:child_process').ChildProcess} child */
async function addressOf(child) {
  const [message] = await Promise.race([
    once(child, 'message'),
    once(child, 'exit').then(() => {
      throw new Error('the registry ended');
    }),
  ]);
  if (message?.verdaccio_started !== true) throw new Error('the registry did not start');
}

/** A port that was free a moment ago. */
async function freePort() {
  const server = require('node:net').createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  server.close();
  await once(server, 'close');
  return port;
}

/**
 * @param {string} tarball  what is published there
 * @param {string} folder  for its files
 */
async function startRegistry(tarball, folder) {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}/`;
  const args = ['--config', writeConfiguration(folder), '--listen', `127.0.0.1:${port}`];
  const child = spawn(process.execPath, [VERDACCIO, ...args], {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    cwd: folder,
  });
  await addressOf(child);
  const body = JSON.stringify({ name: USER, password: 'not-a-secret' });
  const answer = await fetch(`${url}-/user/org.couchdb.user:${USER}`, {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body,
  });
  const { token } = /** @type {any} */ (await answer.json());
  const settings = path.join(folder, 'npmrc');
  fs.writeFileSync(settings, `//127.0.0.1:${port}/:_authToken=${token}\n`);
  const publish = ['publish', tarball, '--registry', url, '--userconfig', settings];
  execFileSync('npm', publish, { stdio: ['ignore', 'ignore', 'pipe'], cwd: folder });
  return {
    url,
    async stop() {
      child.kill();
      await once(child, 'exit');
    },
  };
}

module.exports = { startRegistry };
