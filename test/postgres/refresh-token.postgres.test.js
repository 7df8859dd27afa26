'use strict';

const { describeRefreshToken } = require('../support/remote-refresh-token-contract.js');
const { startPostgres } = require('../support/remote-servers.js');

describeRefreshToken((machine) => startPostgres({ machine }));
