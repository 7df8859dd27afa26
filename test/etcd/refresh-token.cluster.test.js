'use strict';

const { describeRefreshToken } = require('../support/remote-refresh-token-contract.js');
const { startEtcd } = require('../support/remote-servers.js');

describeRefreshToken((machine) => {
  const hosts = [{ ...machine, clientPort: 2379, peerPort: 2380 }];
  return startEtcd({ hosts, launch: machine.launch });
});
