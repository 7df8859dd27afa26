'use strict';

// Debian packages and their sources, from where this system has its packages, without installing
// them: no service is started, no special rights are needed, files go into a folder of ours.

const { spawnSync } = require('node:child_process');
const { existsSync, mkdirSync, readdirSync, writeFileSync } = require('node:fs');
const path = require('node:path');
const { ROOT, StepError, succeeds } = require('./run.js');

/** @param {string} program @param {string[]} args @param {string} cwd */
function outputOf(program, args, cwd) {
  const { status, stdout, stderr, error } = spawnSync(program, args, { cwd, encoding: 'utf8' });
  if (status === 0) return stdout;
  const why = error?.message ?? stderr.trim();
  throw new StepError(`'${program} ${args.join(' ')}' failed: ${why}`);
}

/**
 * A new machine has no lists of packages; who may, gets them.
 * @template T
 * @param {() => T} action
 * @returns {T}
 */
function withLists(action) {
  try {
    return action();
  } catch (error) {
    if (!succeeds('apt-get', ['-q', 'update'])) throw error;
    return action();
  }
}

/**
 * Where the package comes from, as lines for sources of it.
 * @param {string} name
 */
function sourceLines(name) {
  const policy = outputOf('apt-cache', ['policy', name], ROOT);
  const origins = [...policy.matchAll(/^ +\d+ (\w+:\S+) (\S+)\/(\S+) \S+ Packages$/gm)];
  if (origins.length === 0) throw new StepError(`apt knows no repository that has ${name}`);
  const lines = origins.map(
    ([, uri, suite, component]) => `deb-src ${uri} ${suite} ${component}\n`,
  );
  return [...new Set(lines)].join('');
}

/**
 * @param {string} name
 * @returns {string} the folder with its source, unpacked but not patched
 */
function fetchSource(name) {
  const folder = path.join(ROOT, 'build', 'sources', name);
  mkdirSync(path.join(folder, 'lists', 'partial'), { recursive: true });
  writeFileSync(
    path.join(folder, 'sources.list'),
    withLists(() => sourceLines(name)),
  );
  const own = Object.entries({
    'Dir::Etc::sourcelist': path.join(folder, 'sources.list'),
    'Dir::Etc::sourceparts': '/dev/null',
    'Dir::State::lists': path.join(folder, 'lists'),
    'Dir::Cache': path.join(folder, 'cache'),
    'APT::Sandbox::User': '',
  }).flatMap(([key, value]) => ['-o', `${key}=${value}`]);
  outputOf('apt-get', [...own, '-q', 'update'], folder);
  outputOf('apt-get', [...own, '-q', '--download-only', 'source', name], folder);
  const archive = readdirSync(folder).find((file) => /\.orig\.tar\.\w+$/.test(file));
  if (archive === undefined) throw new StepError(`the source of ${name} has no archive`);
  const tree = path.join(folder, 'tree');
  mkdirSync(tree, { recursive: true });
  outputOf('tar', ['-xf', archive, '-C', tree, '--strip-components=1'], folder);
  return tree;
}

/**
 * A program of a package that is wanted without what else the package does, as a service would.
 * @param {string} name  of the package
 * @param {string} program  its path in it
 * @returns {string} the program
 */
function fetchProgram(name, program) {
  const folder = path.join(ROOT, 'build', 'packages', name);
  const found = path.join(folder, 'tree', program);
  if (existsSync(found)) return found;
  mkdirSync(folder, { recursive: true });
  const download = ['-q', '-o', 'APT::Sandbox::User=', 'download', name];
  withLists(() => outputOf('apt-get', download, folder));
  const archive = readdirSync(folder).find((file) => file.endsWith('.deb'));
  if (archive === undefined) throw new StepError(`apt has brought no package ${name}`);
  outputOf('dpkg-deb', ['-x', archive, path.join(folder, 'tree')], folder);
  return found;
}

module.exports = { fetchProgram, fetchSource };
