'use strict';

const { startPostgres } = require('../support/remote-servers.js');
const { describeSelfDeadlock } = require('../support/remote-self-deadlock-contract.js');

describeSelfDeadlock(startPostgres);
