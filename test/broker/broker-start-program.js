'use strict';

// An application in one file: process.execPath is argv[2], which starts it again. Asks for a lock
// over a broker in the directory argv[3], and prints the answer as one line of JSON. argv[4], if it
// is there, is the packer whose sign it bears; `worker`: a worker without variables requests it.

const { appendFileSync } = require('node:fs');
const { Worker, isMainThread } = require('node:worker_threads');
const { openLockManager } = require('../../lib/index.js');
const { BrokerBackend } = require('../../lib/backends/broker/backend.js');

const [, , execPath, directory, packer] = process.argv;
process.execPath = execPath;
const SIGNS = {
  pkg: () => (process.pkg = {}),
  nexe: () => (process.__nexe = {}),
  bun: () => (globalThis.Bun = { main: '/$bunfs/root/app' }),
  deno: () => (globalThis.Deno = { build: { standalone: true } }),
  electron: () => Object.defineProperty(process.versions, 'electron', { value: '40.0.0' }),
};
SIGNS[packer]?.();

async function main() {
  const locks = openLockManager({ backend: new BrokerBackend({ directory }) });
  const answer = await locks.request('a', () => ({ name: 'granted' })).catch((error) => error);
  appendFileSync(`${execPath}.answers`, `${answer.name}\n`);
  console.log(JSON.stringify({ name: answer.name, message: answer.message }));
  locks.close();
}

if (packer === 'worker' && isMainThread) {
  new Worker(__filename, { argv: process.argv.slice(2), env: {} });
} else main();
