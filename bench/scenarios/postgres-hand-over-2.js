'use strict';

const { handOverScenario } = require('../harness/postgres-hand-over.js');

module.exports = handOverScenario(2, { ms: 2_000, rounds: 7 });
