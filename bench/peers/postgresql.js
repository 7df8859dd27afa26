'use strict';

// Advisory locks of a PostgreSQL server of our own, on a socket in the directory, and on loopback.

const { spawnSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const { LOOPBACK, freePorts } = require('../harness/free-ports.js');

const DEBIAN = '/usr/lib/postgresql';

/** The folder of the server's programs: HOLDFAST_POSTGRES, or Debian's newest. */
function programs() {
  if (process.env.HOLDFAST_POSTGRES) return process.env.HOLDFAST_POSTGRES;
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
const CONNECTIONS = 200;

/** @param {string} directory */
const fileIn = (directory) => path.join(directory, 'postgresql.json');

/** The server of a directory. @param {string} directory @returns {{ port: number, pid: number }} */
const serverIn = (directory) => JSON.parse(fs.readFileSync(fileIn(directory), 'utf8'));

/**
 * @param {string} directory
 * @param {number} [connections]  at most
 */
async function serve(directory, connections = CONNECTIONS) {
  const [port] = await freePorts(1);
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
  const room = `-c max_connections=${connections} -c max_locks_per_transaction=128`;
  const settings = `-c listen_addresses=${LOOPBACK} -p ${port} ${room} -c fsync=off -k ${data}`;
  const log = path.join(data, 'log');
  run('pg_ctl', '-D', path.join(data, 'db'), '-l', log, '-w', '-o', settings, 'start');
  const [pid] = fs.readFileSync(path.join(data, 'db', 'postmaster.pid'), 'utf8').split('\n', 1);
  fs.writeFileSync(fileIn(directory), JSON.stringify({ port, pid: Number(pid) }));
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
async function connectAt(directory, host) {
  const { Client } = require('pg');
  const { port } = serverIn(directory);
  const client = new Client({ host, port, user: 'bench', database: 'postgres' });
  await client.connect();
  return client;
}

/**
 * @param {string} directory
 * @param {string} host or the folder of the socket
 */
async function openAt(directory, host) {
  const client = await connectAt(directory, host);
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

module.exports = { connectAt, instances: 2, open, openAt, serve, serverIn, whyNot };
