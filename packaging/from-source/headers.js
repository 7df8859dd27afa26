'use strict';

// The headers that the addon is compiled with: the headers of Node, and node-addon-api.

const { spawnSync } = require('node:child_process');
const { existsSync } = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { Problem } = require('./problem.js');

/** The version that holdfast is tested with. */
const ADDON_API = 'node-addon-api@8.9.2';

/**
 * The folders in which installers of Node put its headers: beside Node, in the system's folder, or
 * in the cache that `node-gyp install` fills.
 * @param {string | undefined} chosen
 */
function nodeHeaderFolders(chosen) {
  const asked = chosen ?? process.env.npm_config_nodedir;
  if (asked !== undefined) return [path.join(asked, 'include', 'node')];
  const { version } = process;
  const cache = process.env.XDG_CACHE_HOME ?? path.join(os.homedir(), '.cache');
  return [
    path.join(path.dirname(path.dirname(process.execPath)), 'include', 'node'),
    path.join('/usr', 'include', 'node'),
    path.join(cache, 'node-gyp', version.slice(1), 'include', 'node'),
  ];
}

/** @param {string | undefined} chosen  by --nodedir */
function findNodeHeaders(chosen) {
  const folders = nodeHeaderFolders(chosen);
  const found = folders.find((folder) =>
    ['node_api.h', 'uv.h'].every((file) => existsSync(path.join(folder, file))),
  );
  if (found !== undefined) return found;
  throw new Problem(
    `the headers of Node are missing (searched: ${folders.join(', ')}). ` +
      'Run "npx node-gyp install", which downloads them, or name them with --nodedir.',
  );
}

/**
 * @param {string} work  a folder for what is fetched
 * @returns {string}
 */
function findAddonApi(work) {
  try {
    return path.dirname(require.resolve('node-addon-api/package.json'));
  } catch {
    const quiet = ['--no-save', '--no-package-lock', '--ignore-scripts', '--no-audit', '--no-fund'];
    const args = ['install', ...quiet, '--prefix', work, ADDON_API];
    const { status } = spawnSync('npm', args, { stdio: ['ignore', 'ignore', 'inherit'] });
    if (status !== 0) throw new Problem(`${ADDON_API} cannot be fetched with npm`);
    return path.join(work, 'node_modules', 'node-addon-api');
  }
}

module.exports = { findAddonApi, findNodeHeaders };
