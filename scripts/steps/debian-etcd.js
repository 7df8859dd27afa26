'use strict';

// The etcd of another suite of Debian, beside the one that is installed: apt checks its signature.

const { mkdirSync, readdirSync, rmSync, writeFileSync } = require('node:fs');
const path = require('node:path');
const { ROOT, StepError, mustRun, succeeds } = require('./run.js');

const MIRROR = 'http://deb.debian.org/debian';
const KEYRING = '/usr/share/keyrings/debian-archive-keyring.gpg';

/**
 * @param {string} suite  trixie, sid, …
 * @returns {string} the path of its etcd
 */
function fetchDebianEtcd(suite) {
  if (!succeeds('apt-get', ['--version'])) throw new StepError('--debian needs apt-get');
  const directory = path.join(ROOT, 'build', `debian-${suite}`);
  rmSync(directory, { recursive: true, force: true });
  const [lists, cache, packages] = ['lists', 'cache', 'packages'].map((name) =>
    path.join(directory, name),
  );
  for (const made of [`${lists}/partial`, `${cache}/archives/partial`, packages]) {
    mkdirSync(made, { recursive: true });
  }
  const sources = path.join(directory, 'sources.list');
  writeFileSync(sources, `deb [signed-by=${KEYRING}] ${MIRROR} ${suite} main\n`);
  const options = [
    `Dir::Etc::SourceList=${sources}`,
    'Dir::Etc::SourceParts=-',
    `Dir::State::Lists=${lists}`,
    `Dir::Cache=${cache}`,
    'APT::Sandbox::User=', // the folder is ours alone
  ].flatMap((option) => ['-o', option]);
  mustRun('apt-get', ['-q', ...options, 'update']);
  mustRun('apt-get', ['-q', ...options, 'download', 'etcd-server'], { cwd: packages });
  const [file] = readdirSync(packages);
  mustRun('dpkg-deb', ['-x', path.join(packages, file), directory]);
  return path.join(directory, 'usr', 'bin', 'etcd');
}

module.exports = { fetchDebianEtcd };
