'use strict';

// A cluster of our own on loopback, with its data in the directory, which is in memory. So a commit
// costs CPU and loopback, and no disk.

const { spawnSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const { LOOPBACK, freePorts } = require('../harness/free-ports.js');
const { startServer } = require('../harness/server-process.js');

const PROGRAM = process.env.HOLDFAST_ETCD || 'etcd';
const POLL_MS = 20;
/** USER_HZ of Linux. */
const TICK_MS = 10;

const whyNoEtcd = () =>
  spawnSync(PROGRAM, ['--version']).error === undefined ? undefined : 'there is no etcd';

/** @param {string} directory */
const fileIn = (directory) => path.join(directory, 'etcd.json');

/** The members that serve a directory. @param {string} directory */
const membersIn = (directory) => JSON.parse(fs.readFileSync(fileIn(directory), 'utf8'));

/** @param {string} directory @returns {string[]} `host:port` */
const endpointsIn = (directory) => membersIn(directory).map(({ endpoint }) => endpoint);

/** @param {string} endpoint */
async function isHealthy(endpoint) {
  try {
    const answer = await fetch(`http://${endpoint}/health`);
    return (await answer.json()).health === 'true';
  } catch {
    return false; // it does not listen yet
  }
}

/**
 * @param {string} directory
 * @param {number} [size] members
 */
async function serveEtcd(directory, size = 1) {
  const ports = await freePorts(2 * size);
  const urlOf = (/** @type {number} */ port) => `http://${LOOPBACK}:${port}`;
  const names = Array.from({ length: size }, (_, i) => `m${i}`);
  const cluster = names.map((name, i) => `${name}=${urlOf(ports[2 * i + 1])}`).join();
  const members = names.map((name, i) => {
    const [client, peer] = [urlOf(ports[2 * i]), urlOf(ports[2 * i + 1])];
    const words = [
      ...['--name', name, '--data-dir', path.join(directory, name)],
      ...['--listen-client-urls', client, '--advertise-client-urls', client],
      ...['--listen-peer-urls', peer, '--initial-advertise-peer-urls', peer],
      ...['--initial-cluster', cluster, '--log-level', 'error', '--logger', 'zap'],
    ];
    const env = { ...process.env, ETCD_UNSUPPORTED_ARCH: process.arch };
    const { pid } = startServer(PROGRAM, words, env);
    return { endpoint: `${LOOPBACK}:${ports[2 * i]}`, pid };
  });
  fs.writeFileSync(fileIn(directory), JSON.stringify(members));
  for (const { endpoint } of members) {
    while (!(await isHealthy(endpoint))) {
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
  }
}

/** The processor time of all members, in ms. @param {string} directory */
function cpuMs(directory) {
  const used = membersIn(directory).map(({ pid }) => {
    const fields = fs.readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ');
    return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
  });
  return used.reduce((sum, ms) => sum + ms, 0);
}

/**
 * Figures that the members themselves count; a figure with several labels is their sum.
 * @param {string} directory
 * @returns {Promise<(pattern: RegExp) => number>} the sum of what matches, over all members
 */
async function readCounters(directory) {
  const pages = await Promise.all(
    endpointsIn(directory).map(async (it) => (await fetch(`http://${it}/metrics`)).text()),
  );
  const lines = pages.join('\n').split('\n');
  return (pattern) =>
    lines
      .filter((line) => pattern.test(line))
      .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0);
}

module.exports = { cpuMs, endpointsIn, membersIn, readCounters, serveEtcd, whyNoEtcd };
