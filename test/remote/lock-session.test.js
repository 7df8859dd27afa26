'use strict';

const { LockSession } = require('../../lib/backends/remote/lock-session.js');
const { SharedState } = require('../../lib/backends/remote/shared-state.js');

test('a lock that is lost during its release is reported once, with the loss', async () => {
  let host;
  const session = {
    id: '1',
    isOver: false,
    open: async () => {},
    enter: (request) => host.onGranted(request, '7'),
    // As an engine whose server reports the loss before it answers the release.
    leave(request) {
      host.onLeft(request, 'stolen');
      host.onLeft(request, undefined);
    },
    close: async () => {},
  };
  const create = (its) => {
    host = its;
    return session;
  };
  const engine = { ttlMs: 1000, create, isFinal: () => false, describe: (error) => error };
  const posted = [];
  const locks = new LockSession(
    /** @type {any} */ (engine),
    (message) => posted.push(message),
    new SharedState(),
  );
  await new Promise(setImmediate);
  locks.enqueue(/** @type {any} */ ({ number: 1, name: 'a', mode: 'exclusive', since: 0 }));
  locks.end(1, undefined);
  await locks.close();
  expect(posted).toEqual([
    { type: 'granted', number: 1, token: '7', session: '1' },
    { type: 'ended', number: 1, loss: 'stolen' },
  ]);
});
