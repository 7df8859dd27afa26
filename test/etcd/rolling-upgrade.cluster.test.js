'use strict';

const { spawn } = require('node:child_process');
const { once } = require('node:events');
const path = require('node:path');
const { text } = require('node:stream/consumers');
const { EtcdCluster } = require('../support/etcd-cluster.js');

// The example of a service that is upgraded while it works, with its locks in a cluster. If there
// is the tree of another version, the first release uses the holdfast of that version.

const MAIN = path.join(__dirname, '..', '..', 'examples', 'rolling-upgrade', 'main.js');
const OTHER = process.env.HOLDFAST_ETCD_OTHER_TREE;

let cluster;
beforeEach(async () => {
  cluster = await EtcdCluster.start({ size: 3 });
});
afterEach(() => cluster.stop());

async function runExample(...options) {
  const child = spawn(process.execPath, [MAIN, '--json', ...options], {
    env: { ...process.env, HOLDFAST_URL: cluster.url('upgrade') },
  });
  const [output, errors] = [text(child.stdout), text(child.stderr)];
  const [status] = await once(child, 'exit');
  const result = await output;
  return { status, errors: await errors, result: result && JSON.parse(result) };
}

const OLD = OTHER === undefined ? [] : ['--old', OTHER];

test('every order is served once and in its turn, by both releases', async () => {
  const { status, errors, result } = await runExample(...OLD);
  expect(errors).toBe('');
  expect(result).toMatchObject({ unfinished: 0, outOfOrder: 0, ok: true });
  for (const orders of result.orders) expect(orders).toBeGreaterThan(0);
  expect(status).toBe(0);
  console.log(JSON.stringify(result));
  await cluster.untilEmpty(); // at the latest, leases end
});
