'use strict';

// What holdfast is compared with in bench/: npm packages of its own, and servers of the system.

const path = require('node:path');
const { spawnSync } = require('node:child_process');
const { headerPrefix } = require('./addon.js');
const { isUpToDate } = require('./packages.js');
const { ROOT, StepError } = require('./run.js');
const { ensureToolchain } = require('./toolchain.js');

const BENCH = path.join(ROOT, 'bench');

/** @param {string[]} args */
function npm(args) {
  const prefix = headerPrefix();
  const env = prefix === undefined ? process.env : { ...process.env, npm_config_nodedir: prefix };
  const stdio = /** @type {const} */ (['ignore', process.stderr, process.stderr]);
  return spawnSync('npm', args, { cwd: BENCH, env, stdio: [...stdio] }).status === 0;
}

/** Without fs-ext, which has to be compiled, its scenarios say that they are left out. */
function ensureBenchPackages() {
  const installed = path.join(BENCH, 'node_modules', '.package-lock.json');
  if (isUpToDate(path.join(BENCH, 'package-lock.json'), installed)) return;
  if (!npm(['ci', '--ignore-scripts', '--no-audit', '--no-fund'])) {
    throw new StepError('the packages of bench/ cannot be installed');
  }
  if (!npm(['rebuild', 'fs-ext'])) console.error('fs-ext cannot be built: no figures of flock');
}

/**
 * The scenarios of a server that is not there are left out, and say so.
 * @param {boolean} withEtcd
 */
function ensureServers(withEtcd) {
  /** @type {('redis' | 'postgresql' | 'etcd')[]} */
  const servers = ['redis', 'postgresql'];
  if (withEtcd && !process.env.HOLDFAST_ETCD) servers.push('etcd');
  for (const server of servers) {
    try {
      ensureToolchain(server);
    } catch (error) {
      if (!(error instanceof StepError)) throw error;
      console.error(`${error.message}\nThe scenarios go on without it.`);
    }
  }
}

module.exports = { ensureBenchPackages, ensureServers };
