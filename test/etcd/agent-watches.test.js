'use strict';

const { AgentWatch } = require('../../lib/backends/etcd/agent-watches.js');
const { BucketKeys, toLeaseId, toRequestId } = require('../../lib/backends/etcd/keys.js');
const { StepQueue } = require('../../lib/backends/etcd/step-queue.js');
const { bytes } = require('../../lib/backends/etcd/transaction.js');

const bucket = new BucketKeys('prefix', 'bucket');

/** A session that lives, and whose cluster answers reads when the test says so. */
class FakeSession {
  subscriptions = [];
  sessions = [];

  bucketWatches = {
    add: (watched) => {
      this.subscriptions.push({ ...watched, cancel: () => {} });
      return this.subscriptions.at(-1);
    },
  };

  async read() {
    await new Promise((resolve, reject) => {
      this.answer = resolve;
      this.refuse = reject;
    });
    return { revision: '4', responses: [{ response_range: { kvs: this.sessions } }] };
  }
}

/** The events of a watch when a lock is granted at this revision. */
const grant = (revision) => ({
  isPut: true,
  key: bucket.ofName('a').heldKey('x', toRequestId(toLeaseId('7'), 1)),
  value: '0 [0]',
  revision,
});

let notices;
let steps;
let session;
/** @param {object} [options] */
function open(options) {
  const watch = new AgentWatch(bucket, session, (events) => notices.push(...events), {
    name: undefined,
    hasMissed: false,
    ...options,
  });
  void steps.run(() => watch.begin());
  return watch;
}
beforeEach(() => {
  notices = [];
  steps = new StepQueue((error) => {
    throw error;
  });
  session = new FakeSession();
});

const turn = () => new Promise(setImmediate);

test('calls after a watch wait for the answer to it', async () => {
  open();
  const done = [];
  steps.add(async () => void done.push('after it'));
  await turn();
  done.push('answered');
  session.answer();
  await turn();
  session.subscriptions[0].onEvents([grant('5')]);
  expect(done).toEqual(['answered', 'after it']);
  expect(notices).toMatchObject([{ type: 'granted', token: 5n, lost: 0 }]);
});

test('a watch sees all after what was read before it, wherever its stream breaks', async () => {
  open();
  session.answer();
  await turn();
  expect(session.subscriptions).toMatchObject([{ from: '5' }]);
});

test('a watch whose read was refused holds up nothing, begins later, and has missed something', async () => {
  open({ retryMs: 1 });
  const done = steps.run(async () => {});
  const { answer } = session;
  session.refuse(new Error('no right'));
  await done;
  while (session.answer === answer) await turn();
  session.answer();
  await turn();
  session.subscriptions[0].onEvents([grant('5')]);
  expect(notices).toMatchObject([{ token: 5n, lost: 1 }]);
});

test('a watch that is closed before its answer sees nothing', async () => {
  open().close();
  session.answer();
  await turn();
  expect(session.subscriptions).toEqual([]);
});

test('a watch reports that it has missed what happened before its session', async () => {
  open({ hasMissed: true });
  session.answer();
  await turn();
  session.subscriptions[0].onEvents([grant('5')]);
  session.subscriptions[0].onEvents([grant('6')]);
  expect(notices).toMatchObject([
    { token: 5n, lost: 1 },
    { token: 6n, lost: 0 },
  ]);
});

test('a watch whose events were compacted away reads the sessions again', async () => {
  open();
  session.answer();
  await turn();
  const about = JSON.stringify(['someone', 0, 0, 'host', '']);
  const lease = toLeaseId('7');
  session.sessions = [{ key: bytes(`${bucket.sessions}${lease}/about`), value: bytes(about) }];
  session.subscriptions[0].onGap();
  session.answer();
  await turn();
  session.subscriptions[1].onEvents([grant('5')]);
  expect(notices).toMatchObject([{ token: 5n, clientId: 'someone', lost: 1 }]);
});
