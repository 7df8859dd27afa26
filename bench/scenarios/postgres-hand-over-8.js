'use strict';

const { handOverScenario } = require('../harness/postgres-hand-over.js');

module.exports = handOverScenario(8, { perHost: 2, ms: 3_000, rounds: 5 });
