'use strict';

const { EtcdRequest } = require('../../../../lib/backends/etcd/etcd-request.js');
const { BucketKeys, toLeaseId, toRequestId } = require('../../../../lib/backends/etcd/keys.js');
const { NameQueue } = require('../../../../lib/backends/etcd/name-queue.js');

const bucket = new BucketKeys('prefix', 'bucket');
const leaseId = toLeaseId('7');

let told;
let queue;
let answers;
beforeEach(() => {
  told = [];
  answers = [];
  // A session that lives. The test answers its changes; of the name, its cluster tells nothing.
  const session = {
    lease: '7',
    leaseId,
    entries: { pass: (promise) => promise },
    read: async (ops) => ({
      revision: '8',
      responses: ops.map(() => ({ response_range: { kvs: [], count: '0' } })),
    }),
    change: () => new Promise((resolve) => answers.push(resolve)),
  };
  const note = (what) => (request) => told.push(`${what} ${request.number}`);
  queue = new NameQueue('a', session, bucket, {
    onGranted: note('granted'),
    onQueued: note('queued'),
    onLost: note('lost'),
  });
});
afterEach(() => queue.close());

const turn = () => new Promise(setImmediate);

function ask(number, options) {
  const request = new EtcdRequest({ number, name: 'a', mode: 'exclusive', since: 0, ...options });
  request.id = toRequestId(leaseId, number);
  queue.ask(request);
  return request;
}

async function answer(revision, succeeded) {
  await turn();
  answers.shift()({ revision, succeeded });
  await turn();
}

test('a thief is granted the lock after its victim of the same session has lost it', async () => {
  ask(1, {});
  await answer('5', true);
  ask(2, { steal: true });
  await answer('9', true);
  expect(told).toEqual(['granted 1', 'lost 1', 'granted 2']);
});

test('what was granted after a steal is not lost to it, though the answer comes late', async () => {
  ask(1, {});
  await answer('5', true);
  const second = ask(2, {});
  await answer('6', false);
  ask(3, { steal: true });
  await turn();
  queue.onMail(second, { revision: '12', value: '{"heads":[]}' });
  await answer('9', true);
  expect(told).toEqual(['granted 1', 'queued 2', 'granted 2', 'lost 1', 'granted 3']);
});
