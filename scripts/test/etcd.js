'use strict';

// npm test -- etcd: the tests of locks in etcd, the conformance suite over a cluster of one member
// and of three, and over answers of later versions, and an upgrade from an earlier revision.
// `--short` is for the build server: one member, a part of the suite. `--beside REV` tests that
// processes of another revision share locks with those of this one. Further arguments go to Jest,
// and leave the upgrade out. HOLDFAST_ETCD names the etcd to use, or `--debian SUITE` one of Debian
// (trixie: 3.5.16); else the one of this system is installed.

const { conclude } = require('../steps/counts.js');
const { fetchDebianEtcd } = require('../steps/debian-etcd.js');
const { runEtcdTests } = require('../steps/etcd-tests.js');

const isShort = process.argv.includes('--short');
const words = process.argv.slice(2).filter((word) => word !== '--short');

/** The value of an option, which is taken from the words. @param {string} option */
function takeValue(option) {
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

const revision = takeValue('--beside');
const suite = takeValue('--debian');
const steps = runEtcdTests({ isShort, args: words, revision });
conclude(suite === undefined ? steps : withDebian(suite, steps));
