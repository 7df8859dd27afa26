'use strict';

const { handOverScenario } = require('../harness/etcd-hand-over.js');

module.exports = handOverScenario(4, { ms: 2_000, rounds: 5 });
