'use strict';

const { readFileSync } = require('node:fs');
const { join } = require('node:path');
const { BiasedLocks } = require('../../lib/backends/shared-memory/biased-locks.js');
const numbers = require('../../lib/backends/shared-memory/native-constants.js');
const { AgentRequests } = require('../../lib/backends/shared-memory/agent-requests.js');
const { RecordedRequest } = require('../support/recorded-request.js');

const TABLE = join(__dirname, '..', 'support', 'biased-transitions.txt');
const TICKET = 0x0123456789abcdefn;
const TICKET_BYTES = 8;
const TOKEN = 0x123456789n;
const IDLE = 0x2babcdef;
const TAKEN = 0x35abcdef;
const TIME = 0x18d5e1a2b3cn;
const ID = 3;

const rows = readFileSync(TABLE, 'utf8')
  .split('\n')
  .filter((line) => line !== '' && !line.startsWith('#'))
  .map((line) => line.split(/\s+/));

/** BiasedLocks over a record in plain memory, which is biased, of the name 'a'. */
function biasRecord() {
  const record = new DataView(new ArrayBuffer(128));
  const lastToken = new BigUint64Array([TOKEN - 1n]);
  const requests = new AgentRequests();
  const { words } = requests;
  const halves = new DataView(new ArrayBuffer(8));
  halves.setBigUint64(0, TIME);
  const agent = {
    endOrBias() {
      [words[numbers.STATES_WORD], words[numbers.STATES_WORD + 1]] = [IDLE, TAKEN];
      return numbers.IS_BIASED;
    },
    view: () => record.buffer,
    tokenView: () => lastToken.buffer,
    renewBudget() {
      words[numbers.BUDGET_WORD] = 1000;
      words[numbers.TURN_WORD] = halves.getInt32(0);
      words[numbers.TURN_WORD + 1] = halves.getInt32(4);
      return true;
    },
    dropBiased() {},
  };
  record.setBigUint64(TICKET_BYTES, TICKET, true);
  const biased = new BiasedLocks(requests);
  biased.attach(agent);
  biased.releaseAndBias({ name: 'a', backendId: ID });
  return { biased, record };
}

test.each(rows)('%s of a record in state %s: %s, then %s %s %s %s', (...row) => {
  const [step, before, succeeds, after, token, mode, time] = row;
  const { biased, record } = biasRecord();
  const request = new RecordedRequest('a', {
    mode: step === 'take-shared' ? 'shared' : 'exclusive',
  });
  const setState = (state) => record.setUint32(0, state, true);
  if (step === 'give-back') {
    setState(IDLE);
    expect(biased.acquire(request)).toBe(true);
  }
  setState(parseInt(before, 16));
  const hasSucceeded = step === 'give-back' ? biased.release(request) : biased.acquire(request);
  expect(hasSucceeded ? 'yes' : 'no').toBe(succeeds);
  expect(record.getUint32(0, true)).toBe(parseInt(after, 16));
  expect(record.getBigUint64(TICKET_BYTES, true)).toBe(TICKET);
  if (token === '-') return;
  expect(record.getBigUint64(numbers.TOKEN_BYTES, true)).toBe(BigInt(`0x${token}`));
  expect(record.getUint32(numbers.MODE_BYTES, true)).toBe(Number(mode));
  for (const at of [numbers.REQUESTED_BYTES, numbers.GRANTED_BYTES]) {
    expect(record.getBigUint64(at, true)).toBe(BigInt(`0x${time}`));
  }
  expect(request.token).toBe(TOKEN);
  expect(request.backendId).toBe(ID);
});

test('a record that is taken between its reading and the exchange is left alone', () => {
  const { biased, record } = biasRecord();
  record.setUint32(0, IDLE, true);
  const request = new RecordedRequest('a');
  const { add } = Atomics;
  // The token is drawn in between.
  const spy = jest.spyOn(Atomics, 'add').mockImplementation((...args) => {
    record.setUint32(0, 0x9e0c7009, true);
    return add(...args);
  });
  expect(biased.acquire(request)).toBe(false);
  spy.mockRestore();
  expect(record.getUint32(0, true)).toBe(0x9e0c7009);
  expect(request).toMatchObject({ backendId: -1, tokenHigh: 0, tokenLow: 0 });
});

test('a token that is corrupted is not given to any request', () => {
  const { biased, record } = biasRecord();
  record.setUint32(0, IDLE, true);
  const spy = jest.spyOn(Atomics, 'add').mockReturnValue(2n ** 62n);
  expect(biased.acquire(new RecordedRequest('a'))).toBe(false);
  spy.mockRestore();
  expect(record.getUint32(0, true)).toBe(IDLE);
});
