'use strict';

const fs = require('node:fs');
const { tmpdir } = require('node:os');
const path = require('node:path');
const { BrokerFiles } = require('../../lib/backends/broker/broker-files.js');
const { ClientRecovery } = require('../../lib/backends/broker/server/recovery.js');

const LIFELINES = ['s0000000000000001', 's0000000000000002'];
const HERE = 'pid:[1]';
const ELSEWHERE = 'pid:[2]';

let files;
beforeEach(() => {
  files = new BrokerFiles('default', fs.mkdtempSync(path.join(tmpdir(), 'holdfast-')));
  files.ensure();
  for (const name of LIFELINES) fs.writeFileSync(path.join(files.lifelinesFolder, name), '');
});
afterEach(() => fs.rmSync(path.dirname(files.folder), { recursive: true }));

const CORRUPTION = { file: 'journal.1', where: 'line 3', bytes: 1 };
const recordOf = (lifeline, pid, pidNamespace) => ['S', 'id', { lifeline, pid, pidNamespace }];

/** The message to clients if none of these has reported its locks. */
const messageOf = (records, received = []) =>
  new Promise((resolve) => {
    const corruption = { ...CORRUPTION, records };
    const recovery = new ClientRecovery(files, corruption, ({ message }) => resolve(message), 0);
    for (const session of received) recovery.addReport(session, []);
  });

test('clients that have not reported what they hold are named by their process ids', async () => {
  const [first, second] = LIFELINES;
  const records = [recordOf(first, 7, HERE), recordOf(second, 8, HERE)];
  expect(await messageOf(records)).toMatch('stopped or busy (7, 8), ');
  expect(await messageOf(records, [{ lifeline: first, pidNamespace: HERE }])).toMatch('busy (8), ');
});

test('of clients that the journal does not show, nothing is known', async () => {
  expect(await messageOf([recordOf(LIFELINES[0], 7, HERE)])).toMatch('busy (7, unknown), ');
});

test('process ids of several PID namespaces are named with their namespaces', async () => {
  const [first, second] = LIFELINES;
  const records = [recordOf(first, 1, HERE), recordOf(second, 1, ELSEWHERE)];
  expect(await messageOf(records)).toMatch('busy (1 of pid:[1], 1 of pid:[2]), ');
  const received = [{ lifeline: first, pidNamespace: HERE }];
  expect(await messageOf([recordOf(second, 1, ELSEWHERE)], received)).toMatch(
    'busy (1 of pid:[2]), ',
  );
});
