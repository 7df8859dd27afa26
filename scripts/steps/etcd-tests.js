'use strict';

// The tests that need an etcd, as steps.

const { spawnSync } = require('node:child_process');
const { runJsTests } = require('./js-tests.js');
const { buildTree } = require('./other-revision.js');
const { ROOT } = require('./run.js');
const { ensureToolchain } = require('./toolchain.js');

/** What the short form takes of the conformance suite. */
const SHORT = ['test/conformance/(if-available|steal)'];

/** The earliest revision whose processes have the same keys as those of this one. */
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
    args: ['--config', 'jest.etcd-conformance.config.js', ...args],
    env: {
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
  return runJsTests({ report: 'etcd', args: ['--config', 'jest.etcd.config.js', ...args] });
}

/**
 * @param {string} revision
 * @param {string[]} args
 */
function runVersions(revision, args) {
  ensureEtcd();
  return runJsTests({
    report: 'etcd-versions',
    args: ['--config', 'jest.etcd.config.js', 'test/etcd/(versions|rolling-upgrade)', ...args],
    env: { HOLDFAST_ETCD_OTHER_TREE: buildTree(revision) },
  });
}

/**
 * @param {{ isShort: boolean, args?: string[], revision?: string }} options  revision: another one,
 *   beside this one
 * @returns {{ title: string, run: () => import('./counts.js').Counts }[]}
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

module.exports = { runEtcdTests };
