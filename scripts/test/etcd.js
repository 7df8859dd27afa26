'use strict';

// npm test -- etcd: the tests of locks in etcd, and an upgrade from an earlier revision. The
// conformance suite runs over a cluster of one member and of three, and over answers of later
// versions. With `--short`, for the build server: one member, a part of the suite. With `--beside
// REV` it tests that processes of another revision share locks with processes of this one. Further
// arguments go to Jest, and leave the upgrade out. HOLDFAST_ETCD names the etcd to use, or
// `--debian SUITE` one of Debian (trixie: 3.5.16); else the one of this system is installed.

const { mkdirSync, readdirSync, rmSync, writeFileSync } = require('node:fs');
const path = require('node:path');
const { spawnSync } = require('node:child_process');
const { mustRun, ROOT, StepError, succeeds } = require('../steps/run.js');
const { runJsTests, conclude } = require('../steps/suites.js');
const { build } = require('../build.js');
const { buildTree } = require('../steps/other-revision.js');
const { ensureToolchain } = require('../steps/toolchain.js');

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

/** The part of the conformance suite in the short form. */
const SHORT = ['test/[^/]+/(if-available|steal)[.]conformance'];

/** The earliest revision whose processes use the same keys as processes of this revision. */
const EARLIER = '994866d';

/** Finds or installs etcd; HOLDFAST_ETCD names another one. Its command line is needed anyhow. */
function ensureEtcd() {
  ensureToolchain('etcdctl');
  if (!process.env.HOLDFAST_ETCD) ensureToolchain('etcd');
}

/**
 * @param {number} size Members of the cluster.
 * @param {string[]} args
 * @param {boolean} [isNewer] Each behind something that answers as later versions do.
 */
function runConformance(size, args, isNewer = false) {
  ensureEtcd();
  return runJsTests({
    report: `etcd-${size}${isNewer ? '-newer' : ''}`,
    args,
    env: {
      HOLDFAST_JEST: 'etcd-conformance',
      HOLDFAST_TEST_ETCD_SIZE: String(size),
      HOLDFAST_TEST_BACKENDS: 'etcd',
      ...(isNewer && { HOLDFAST_TEST_ETCD_NEWER: 'yes' }),
    },
  });
}

/** A copy without the history does not have it. @param {string} revision */
function isKnown(revision) {
  const { status } = spawnSync('git', ['cat-file', '-e', `${revision}^{commit}`], { cwd: ROOT });
  if (status !== 0) console.log(`The upgrade from ${revision} is left out: git does not know it.`);
  return status === 0;
}

/** @param {string[]} args */
function runOwnTests(args) {
  ensureEtcd();
  ensureToolchain('faults');
  return runJsTests({ report: 'etcd', args, env: { HOLDFAST_JEST: 'etcd' } });
}

/**
 * @param {string} revision
 * @param {string[]} args
 */
function runVersions(revision, args) {
  ensureEtcd();
  return runJsTests({
    report: 'etcd-versions',
    args: ['test/etcd/(versions|rolling-upgrade)', ...args],
    env: { HOLDFAST_JEST: 'etcd', HOLDFAST_ETCD_OTHER_TREE: buildTree(revision) },
  });
}

/**
 * @param {{ isShort: boolean, args?: string[], revision?: string }} options  revision: another one,
 *   beside this one
 * @returns {{ title: string, run: () => import('../steps/suites.js').Counts }[]}
 */
function runEtcdTests({ isShort, args = [], revision }) {
  const beside = (/** @type {string} */ it) => ({
    title: `Beside ${it}`,
    run: () => runVersions(it, args),
  });
  if (revision !== undefined) return [beside(revision)];
  if (isShort) {
    return [{ title: 'Locks in etcd', run: () => runConformance(1, [...SHORT, ...args]) }];
  }
  return [
    { title: 'Locks in etcd', run: () => runOwnTests(args) },
    { title: 'Conformance over one member', run: () => runConformance(1, args) },
    { title: 'Conformance over three members', run: () => runConformance(3, args) },
    { title: 'Conformance over later versions', run: () => runConformance(1, args, true) },
    ...(args.length === 0 && isKnown(EARLIER) ? [beside(EARLIER)] : []),
  ];
}

/**
 * The value of an option, which is taken from the words.
 * @param {string[]} words
 * @param {string} option
 */
function takeValue(words, option) {
  const at = words.indexOf(option);
  if (at === -1) return undefined;
  const [, value] = words.splice(at, 2);
  if (value === undefined) throw new TypeError(`${option} needs a value`);
  return value;
}

/**
 * The same steps with the etcd of a suite of Debian, which the first of them fetches.
 * @param {string} suite
 * @param {ReturnType<typeof runEtcdTests>} steps
 */
function withDebian(suite, steps) {
  /** @type {string | undefined} */
  let etcd;
  return steps.map(({ title, run }) => ({
    title: `${title}: the etcd of Debian ${suite}`,
    run() {
      etcd ??= fetchDebianEtcd(suite);
      process.env.HOLDFAST_ETCD = etcd;
      return run();
    },
  }));
}

/** @param {string[]} args */
function main(args) {
  const words = args.filter((word) => word !== '--short');
  const isShort = words.length < args.length;
  const revision = takeValue(words, '--beside');
  const suite = takeValue(words, '--debian');
  const steps = runEtcdTests({ isShort, args: words, revision });
  build(); // doctor and the examples use what is built
  conclude(suite === undefined ? steps : withDebian(suite, steps));
}

module.exports = { fetchDebianEtcd, runEtcdTests, main };
