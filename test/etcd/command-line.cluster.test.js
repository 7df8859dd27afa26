'use strict';

const { startEtcd } = require('../support/remote-servers.js');
const { describeCommandLine } = require('../support/remote-command-line-contract.js');

describeCommandLine(startEtcd);
