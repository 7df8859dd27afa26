'use strict';

const { EtcdRequest } = require('../../../../lib/backends/etcd/etcd-request.js');
const { BucketKeys, toLeaseId, toRequestId } = require('../../../../lib/backends/etcd/keys.js');
const { NameQueue } = require('../../../../lib/backends/etcd/name-queue.js');
const { textOf } = require('../../../../lib/backends/etcd/transaction.js');

const bucket = new BucketKeys('prefix', 'bucket');
const leaseId = toLeaseId('7');

let told;
let queue;
/** What was asked of the cluster, and not answered. */
let changes;
/** What is read, by key. */
let stored;
beforeEach(() => {
  told = [];
  changes = [];
  stored = new Map();
  // A session that lives. The test answers its changes, and says what it reads.
  const session = {
    lease: '7',
    leaseId,
    entries: { pass: (promise) => promise },
    read: async (ops) => ({
      revision: '8',
      responses: ops.map(({ request_range: { key } }) => {
        const found = stored.get(textOf(key));
        return { response_range: { kvs: found ? [found] : [], count: '0' } };
      }),
    }),
    change: (compare, success, failure, recover) =>
      new Promise((resolve) => changes.push({ success, recover, resolve })),
  };
  const note = (what) => (request) => told.push(`${what} ${request.number}`);
  queue = new NameQueue('a', session, bucket, {
    onGranted: note('granted'),
    onQueued: note('queued'),
    onLost: note('lost'),
    onEnded: ({ number, loss }) => told.push(`ended ${number} ${loss}`),
    onIdle() {},
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
  changes.shift().resolve({ revision, succeeded });
  await turn();
}

/** No answer came: what has happened is read. */
async function findOut() {
  await turn();
  const { recover, resolve } = changes.shift();
  const found = await recover();
  expect(found).toBeDefined(); // else it would be asked for again
  resolve(found);
  await turn();
}

const nameKeys = bucket.ofName('a');
const removedBy = ({ success }) =>
  success.map(({ request_delete_range: { key } }) => textOf(key)).sort();
const keysOf = ({ class: it, id }) =>
  [nameKeys.heldKey(it, id), nameKeys.queueKey(it, id), bucket.mail(id)].sort();
const THEFT = '{"stolen":true}';

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

test('a lock that was stolen before its grant was known is not asked for again', async () => {
  const request = ask(1, {});
  stored.set(bucket.mail(request.id), { value: Buffer.from(THEFT), mod_revision: '8' });
  await findOut();
  expect(told).toEqual(['granted 1', 'lost 1']);
  expect(removedBy(changes[0])).toEqual(keysOf(request));
});

test('of a stolen lock nothing is left, though it was asked for once more', async () => {
  const request = ask(1, {});
  await answer('6', false);
  queue.onMail(request, { revision: '8', value: THEFT });
  await turn();
  expect(told).toEqual(['queued 1', 'granted 1', 'lost 1']);
  expect(removedBy(changes[0])).toEqual(keysOf(request));
});

test('a lock that was stolen while its release was in doubt is lost', async () => {
  const request = ask(1, {});
  await answer('5', true);
  queue.end(request);
  stored.set(bucket.mail(request.id), { value: Buffer.from(THEFT), mod_revision: '8' });
  await findOut();
  expect(told).toEqual(['granted 1', 'ended 1 stolen']);
});

test('requests that followed in doubt leave the places that they took', async () => {
  const shared = { mode: 'shared' };
  const first = ask(1, shared);
  await answer('6', false);
  void queue.after(async () => {}); // so that both follow in one change
  const second = ask(2, shared);
  const third = ask(3, {});
  await turn();
  queue.onMail(first, { revision: '8', value: '{"heads":[]}' });
  stored.set(nameKeys.heldKey('s', second.id), { create_revision: '9' });
  stored.set(nameKeys.queueKey('x', third.id), { create_revision: '7' });
  await findOut();
  expect(told).toEqual(['queued 1', 'granted 1', 'queued 2', 'queued 3', 'granted 2']);
  queue.end(third);
  await turn();
  const { compare } = changes[0].success[0].request_txn;
  expect(compare).toMatchObject([{ create_revision: '7' }]);
});
