'use strict';

const { handOverScenario } = require('../harness/postgres-hand-over.js');

module.exports = handOverScenario(32, { perHost: 8, ms: 12_000, rounds: 3 });
