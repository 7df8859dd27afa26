'use strict';

const { once } = require('node:events');
const { MessageChannel, Worker, receiveMessageOnPort } = require('node:worker_threads');
const { toClusterOptions } = require('../../lib/backends/etcd/cluster-options.js');
const { SharedState } = require('../../lib/backends/remote/shared-state.js');

const SESSION = require.resolve('../../lib/backends/remote/session-thread.js');
/** A port without a listener. */
const NOWHERE = 'etcd://127.0.0.1:9?ttl=3600';

/** The thread of a session that cannot begin, and all its messages. */
function startSession() {
  const { port1, port2 } = new MessageChannel();
  const workerData = {
    build: 'source',
    engine: 'etcd',
    port: port2,
    options: toClusterOptions(NOWHERE, {}),
    agent: { clientId: 'c', pid: process.pid, threadId: 0, host: 'h' },
    state: new SharedState().buffer,
  };
  const worker = new Worker(SESSION, { workerData, transferList: [port2], execArgv: [] });
  const notices = [];
  port1.on('message', (message) => notices.push(message));
  return { worker, port: port1, notices };
}

/** All that a request without extras says. */
const makeRequest = (number, name = 'a') => ({
  type: 'enqueue',
  request: { number, name, mode: 'exclusive', ifAvailable: false, steal: false, since: 0 },
});

/** Whatever was sent before has been looked at. */
async function untilSeen({ port, notices }) {
  port.postMessage({ type: 'status', id: 99 });
  while (notices.every(({ id }) => id !== 99)) await once(port, 'message');
}

test('a request behind a watch ends at once, though the cluster is not there', async () => {
  const session = startSession();
  session.port.postMessage({ type: 'watch', id: 1, name: undefined });
  session.port.postMessage(makeRequest(1));
  session.port.postMessage({ type: 'end', number: 1, why: 'timedout' });
  await untilSeen(session);
  expect(session.notices).toContainEqual(expect.objectContaining({ type: 'ended', number: 1 }));
  await session.worker.terminate();
});

test('a session that the cluster does not have is closed without it', async () => {
  const { worker, port, notices } = startSession();
  port.postMessage(makeRequest(1));
  port.postMessage({ type: 'close' });
  await once(worker, 'exit');
  // The exit may arrive before the last messages.
  for (let last; (last = receiveMessageOnPort(port)) !== undefined;) notices.push(last.message);
  expect(notices).toContainEqual({ type: 'closed' });
});
