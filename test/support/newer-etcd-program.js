'use strict';

// Stands before a member of a cluster as a newer one (newer-etcd.js), in a separate process: a test
// may block its thread. Prints its endpoint; ends with its parent.

const { NewerEtcd } = require('./newer-etcd.js');

async function main() {
  const [endpoint, prefix] = process.argv.slice(2);
  const newer = await NewerEtcd.open(endpoint);
  newer.prefix = prefix;
  process.send({ endpoint: newer.endpoint });
  process.once('disconnect', () => process.exit());
}

main();
