'use strict';

const { startEtcd } = require('../support/remote-servers.js');
const { describeSilence } = require('../support/remote-silence-contract.js');

describeSilence(startEtcd, async (cluster) => {
  await cluster.control('compact', String(await cluster.revision()));
});
