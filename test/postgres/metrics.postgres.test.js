'use strict';

const { describeMetrics } = require('../support/remote-metrics-contract.js');
const { startPostgres } = require('../support/remote-servers.js');

describeMetrics(startPostgres);
