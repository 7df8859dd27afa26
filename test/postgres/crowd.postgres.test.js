'use strict';

const { describeCrowd } = require('../support/remote-crowd-contract.js');
const { startPostgres } = require('../support/remote-servers.js');

describeCrowd(startPostgres, 100_000);
