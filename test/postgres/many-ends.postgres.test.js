'use strict';

const { describeManyEnds } = require('../support/remote-many-ends-contract.js');
const { startPostgres } = require('../support/remote-servers.js');

describeManyEnds(startPostgres);
