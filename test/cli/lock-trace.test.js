'use strict';

const { LockTrace } = require('../../lib/cli/trace.js');

const lock = (more) => ({
  name: 'a',
  mode: 'exclusive',
  pid: process.pid,
  threadId: 0,
  clientId: 'client',
  requestId: 1,
  token: 5n,
  label: '',
  callSite: '',
  lost: 0,
  ...more,
});
/** An event, which has no label. */
const event = (type, time, more) => ({ ...lock(more), label: undefined, type, time });

/** The begins and ends of a trace. */
function slices(...parts) {
  const { traceEvents } = JSON.parse(parts.join(''));
  return traceEvents.filter(({ ph }) => ph === 'b' || ph === 'e');
}

test('no end is before its begin, also of an event that is older than the inspection', () => {
  const trace = new LockTrace();
  const waiter = lock({ requestId: 2, token: null });
  const all = slices(
    trace.begin({ held: [lock()], pending: [waiter] }, 1_000),
    trace.record(event('released', 990)),
    trace.record(event('granted', 995, { requestId: 2, token: 6n })),
    trace.record(event('released', 993, { requestId: 2, token: 6n })), // of another clock
    trace.end(2_000),
  );
  const begins = new Map(all.filter(({ ph }) => ph === 'b').map((one) => [one.id2.local, one.ts]));
  const ends = all.filter(({ ph }) => ph === 'e');
  expect(ends).toHaveLength(5);
  for (const { id2, ts } of ends) expect(ts).toBeGreaterThanOrEqual(begins.get(id2.local));
});

test('labels and call sites are shown, also of locks that were granted since', () => {
  const trace = new LockTrace();
  const later = { requestId: 2, token: 6n };
  const parts = [
    trace.begin({ held: [lock({ label: 'nightly', callSite: 'a.js:1:1' })], pending: [] }, 1_000),
    trace.record(event('granted', 1_001, later)),
  ];
  trace.describeOpen({ held: [lock({ ...later, label: 'hourly' })], pending: [] });
  const all = slices(...parts, trace.end(2_000));
  const argsOf = (id) =>
    Object.assign({}, ...all.filter((e) => e.id2.local === id).map((e) => e.args));
  expect(argsOf('t5')).toMatchObject({ label: 'nightly', callSite: 'a.js:1:1' });
  expect(argsOf('t6')).toMatchObject({ label: 'hourly', token: '6' });
  expect(argsOf('l6')).toMatchObject({ label: 'hourly' });
});

test('a wait begins with its priority, and ends with the number of its overtakes', () => {
  const trace = new LockTrace();
  const waiter = lock({ requestId: 2, token: null, priority: 'background', overtakes: 1 });
  const granted = { requestId: 2, token: 6n, priority: 'background', overtakes: 3 };
  const all = slices(
    trace.begin(
      { held: [lock({ priority: 'user-visible', overtakes: 0 })], pending: [waiter] },
      1_000,
    ),
    trace.record(event('granted', 1_001, granted)),
    trace.end(2_000),
  );
  const argsOf = (kind) => all.find(({ cat, ph }) => cat === 'wait' && ph === kind).args;
  expect(argsOf('b')).toMatchObject({ priority: 'background' });
  expect(argsOf('e')).toMatchObject({ overtakes: 3 });
});
