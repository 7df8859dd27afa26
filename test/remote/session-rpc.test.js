'use strict';

const { SessionRpc } = require('../../lib/backends/remote/backend.js');

const CHECKS = 10;

/**
 * Checks, one after the other, whether there is a valid session; `onCheck` gives what is found.
 * @param {(checks: number) => boolean} onCheck
 */
function open(onCheck) {
  let checks = 0;
  const posted = [];
  const cluster = {
    server: 'The server',
    findReason: () => undefined,
    hasSession: () => onCheck((checks += 1)),
    maxAnswerMs: 2 * CHECKS,
  };
  const rpc = new SessionRpc(
    (message) => posted.push(message),
    () => {},
    cluster,
  );
  return { rpc, answer: (value) => rpc.onReply({ ...posted[0], value, error: undefined }) };
}

test('a call whose session is invalid for moments waits for its answer', async () => {
  const { rpc, answer } = open((checks) => {
    if (checks === 3 * CHECKS) answer('here');
    return checks % CHECKS === 0;
  });
  expect(await rpc.call({ type: 'status' })).toBe('here');
});

test('a call without a session fails after so many checks', async () => {
  let last = 0;
  const { rpc } = open((checks) => {
    last = checks;
    return false;
  });
  await expect(rpc.call({ type: 'status' })).rejects.toMatchObject({ name: 'InvalidStateError' });
  expect(last).toBe(CHECKS);
});

test('a call that blocks and is not answered is not open any more', () => {
  const { rpc } = open(() => false);
  expect(() => rpc.callSync({ type: 'isLocked' }, () => {})).toThrow(/has not answered in time/);
  expect(rpc.isEmpty).toBe(true);
});
