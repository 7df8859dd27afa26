'use strict';

const { describeCrowd } = require('../support/remote-crowd-contract.js');
const { startEtcd } = require('../support/remote-servers.js');

const EXTRA = ['--quota-backend-bytes', String(8 * 2 ** 30)];

describeCrowd(() => startEtcd({ extra: EXTRA }), 100_000);
