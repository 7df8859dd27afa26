'use strict';

const { startEtcd } = require('../support/remote-servers.js');
const { describeNoThread } = require('../support/remote-no-thread-contract.js');

describeNoThread(startEtcd);
