'use strict';

const { describeHolders } = require('../support/remote-holders-contract.js');
const { startPostgres } = require('../support/remote-servers.js');

describeHolders(startPostgres, 'PostgreSQL');
