'use strict';

const { startPostgres } = require('../support/remote-servers.js');
const { describeSilence } = require('../support/remote-silence-contract.js');

describeSilence(startPostgres);
