'use strict';

// Advisory locks of a PostgreSQL server of our own, on a socket in the directory, and on loopback.

const { spawnSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const { LOOPBACK, freePorts } = require('../harness/free-ports.js');

const DEBIAN = '/usr/lib/postgresql';

/** The folder of the newest server's programs; Debian does not put them on the path. */
function programs() {
  const versions = fs.existsSync(DEBIAN) ? fs.readdirSync(DEBIAN) : [];
  const newest = versions.sort((a, b) => Number(b) - Number(a))[0];
  return newest === undefined ? '' : path.join(DEBIAN, newest, 'bin');
}

const whyNot = () =>
  fs.existsSync(path.join(programs(), 'initdb')) ? undefined : 'there is no PostgreSQL server';

/** The server refuses to run as root. */
function ownerIds() {
  if (process.getuid?.() !== 0) return {};
  const [uid, gid] = ['-u', '-g'].map((what) =>
    Number(spawnSync('id', [what, 'nobody'], { encoding: 'utf8' }).stdout),
  );
  return { uid, gid };
}

/** 10,000 locks at once, of 200 connections. */
const ROOM = '-c max_connections=200 -c max_locks_per_transaction=128';

/** @param {string} directory */
const portIn = (directory) => path.join(directory, 'postgresql.json');

/** @param {string} directory */
async function serve(directory) {
  const [port] = await freePorts(1);
  fs.writeFileSync(portIn(directory), JSON.stringify(port));
  const ids = ownerIds();
  const data = path.join(directory, 'postgresql');
  fs.mkdirSync(data, { mode: 0o700 });
  if (ids.uid !== undefined) {
    fs.chmodSync(directory, 0o755);
    fs.chownSync(data, ids.uid, ids.gid);
  }
  const run = (program, ...args) => {
    const options = { ...ids, cwd: data, encoding: 'utf8', stdio: ['ignore', 'ignore', 'pipe'] };
    const { status, stderr } = spawnSync(path.join(programs(), program), args, options);
    if (status !== 0) throw new Error(`${program}: ${stderr}`);
  };
  run('initdb', '-D', path.join(data, 'db'), '-U', 'bench', '-A', 'trust', '--no-sync');
  const settings = `-c listen_addresses=${LOOPBACK} -p ${port} ${ROOM} -c fsync=off -k ${data}`;
  const log = path.join(data, 'log');
  run('pg_ctl', '-D', path.join(data, 'db'), '-l', log, '-w', '-o', settings, 'start');
  process.prependListener('exit', () =>
    run('pg_ctl', '-D', path.join(data, 'db'), '-m', 'immediate', 'stop'),
  );
}

/** @param {import('./peers.js').PeerSetup} setup */
const open = ({ directory }) => openAt(directory, path.join(directory, 'postgresql'));

/**
 * @param {string} directory
 * @param {string} host or the folder of the socket
 */
async function openAt(directory, host) {
  const { Client } = require('pg');
  const port = JSON.parse(fs.readFileSync(portIn(directory), 'utf8'));
  const client = new Client({ host, port, user: 'bench', database: 'postgres' });
  await client.connect();
  const lock = { name: 'lock', text: 'SELECT pg_advisory_lock($1)' };
  const unlock = { name: 'unlock', text: 'SELECT pg_advisory_unlock($1)' };
  /** @type {Map<string, number>} advisory locks have numbers for names */
  const numbers = new Map();
  const runNamed = async (name, section) => {
    if (!numbers.has(name)) numbers.set(name, numbers.size + 1);
    const values = [numbers.get(name)];
    await client.query({ ...lock, values });
    try {
      return await section();
    } finally {
      await client.query({ ...unlock, values });
    }
  };
  return { run: (section) => runNamed('', section), runNamed, close: () => client.end() };
}

module.exports = { instances: 2, open, openAt, serve, whyNot };
