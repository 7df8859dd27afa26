'use strict';

// npm run test:etcd: the tests of locks in etcd, the conformance suite over a cluster of one member
// and of three, and over answers of later versions, and an upgrade from an earlier revision.
// `--short` is for the build server: one member, a part of the suite. `--beside REV` tests that
// processes of another revision share locks with those of this one. Further arguments go to Jest,
// and leave the upgrade out. HOLDFAST_ETCD names the etcd to use; else Debian's is installed.

const { conclude } = require('./steps/counts.js');
const { runEtcdTests } = require('./steps/etcd-tests.js');

const isShort = process.argv.includes('--short');
const words = process.argv.slice(2).filter((word) => word !== '--short');
const at = words.indexOf('--beside');
const [, revision] = at === -1 ? [] : words.splice(at, 2);

conclude(runEtcdTests({ isShort, args: words, revision }));
