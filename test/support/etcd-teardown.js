'use strict';

/** After a run of Jest. */
module.exports = async () => {
  for (const child of globalThis.newerEtcds) child.disconnect();
  await globalThis.etcdCluster.stop();
};
