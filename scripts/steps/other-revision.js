'use strict';

// Another revision of the project, built in build/compare/<commit>. If this revision is measured,
// it gets the benchmarks of this tree: both revisions are measured by the same programs.

const { execFileSync, spawnSync } = require('node:child_process');
const { cpSync, existsSync, mkdirSync, readFileSync, rmSync, symlinkSync } = require('node:fs');
const path = require('node:path');
const { ROOT, StepError } = require('./run.js');

const PARENT = path.join(ROOT, 'build', 'compare');

/**
 * @param {string} revision
 * @returns {string} the commit
 */
function commitOf(revision) {
  const args = ['rev-parse', '--verify', '--quiet', '--end-of-options', `${revision}^{commit}`];
  const { status, stdout } = spawnSync('git', args, { cwd: ROOT, encoding: 'utf8' });
  if (status !== 0) throw new StepError(`git knows no revision '${revision}'`);
  return stdout.trim();
}

/** @param {string} commit @param {string} folder */
function unpack(commit, folder) {
  mkdirSync(folder, { recursive: true });
  const archive = execFileSync('git', ['archive', '--format=tar', commit], {
    cwd: ROOT,
    maxBuffer: 2 ** 30,
  });
  execFileSync('tar', ['-x', '-C', folder], { input: archive });
}

/**
 * The packages of this tree serve both, unless the other revision names others.
 * @param {string} folder
 */
function sharePackages(folder) {
  const lock = (/** @type {string} */ root) =>
    readFileSync(path.join(root, 'package-lock.json'), 'utf8');
  const target = path.join(folder, 'node_modules');
  if (existsSync(target) || lock(folder) !== lock(ROOT)) return;
  symlinkSync(path.join(ROOT, 'node_modules'), target);
}

/** The benchmarks of this tree, as they are now. @param {string} folder */
function putBenchmarks(folder) {
  const bench = path.join(folder, 'bench');
  rmSync(bench, { recursive: true, force: true });
  cpSync(path.join(ROOT, 'bench'), bench, {
    recursive: true,
    filter: (file) => path.basename(file) !== 'node_modules',
  });
  symlinkSync(path.join(ROOT, 'bench', 'node_modules'), path.join(bench, 'node_modules'));
}

/**
 * @param {string} revision whatever git takes for a commit
 * @returns {string} the folder of its tree
 */
function buildTree(revision) {
  const commit = commitOf(revision);
  const folder = path.join(PARENT, commit);
  if (!existsSync(path.join(folder, 'package.json'))) unpack(commit, folder);
  sharePackages(folder);
  const { status } = spawnSync(process.execPath, ['scripts/build.js'], {
    cwd: folder,
    stdio: ['ignore', process.stderr, process.stderr],
  });
  if (status !== 0) throw new StepError(`${commit} cannot be built`);
  return folder;
}

/**
 * @param {string} revision whatever git takes for a commit
 * @returns {string} the folder bench/ of its tree
 */
function buildRevision(revision) {
  const folder = buildTree(revision);
  putBenchmarks(folder);
  return path.join(folder, 'bench');
}

module.exports = { buildRevision, buildTree, commitOf };
