'use strict';

const { startPostgres } = require('../support/remote-servers.js');
const { describeNoThread } = require('../support/remote-no-thread-contract.js');

describeNoThread(startPostgres);
