'use strict';

// npm run test:etcd: the tests of locks in etcd, and the conformance suite over a cluster of one
// member and of three. `--short` is for the build server: one member, a part of the suite. Further
// arguments go to Jest. HOLDFAST_ETCD names the etcd to use; else Debian's is installed.

const { conclude } = require('./steps/counts.js');
const { runEtcdTests } = require('./steps/etcd-tests.js');

const isShort = process.argv.includes('--short');
const words = process.argv.slice(2).filter((word) => word !== '--short');

conclude(runEtcdTests({ isShort, args: words }));
