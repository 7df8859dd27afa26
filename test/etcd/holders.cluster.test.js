'use strict';

const { describeHolders } = require('../support/remote-holders-contract.js');
const { startEtcd } = require('../support/remote-servers.js');

describeHolders(startEtcd, 'etcd');
