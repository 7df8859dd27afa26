'use strict';

const { startEtcd } = require('../support/remote-servers.js');
const { describeSelfDeadlock } = require('../support/remote-self-deadlock-contract.js');

describeSelfDeadlock(startEtcd);
