'use strict';

const { TaskMeter } = require('../../lib/scheduler/dispatcher.js');
const { performance } = require('../../lib/time.js');

/** The clock, moved by hand: the time of a task on a busy machine is unknown. */
let now;
beforeEach(() => {
  now = 1000;
  jest.spyOn(performance, 'now').mockImplementation(() => now);
});
afterEach(() => jest.restoreAllMocks());

/** A meter between whose looks `runs` numbers the runs of tasks. */
function meterOf() {
  const reads = [];
  const meter = new TaskMeter((at) => reads.push(at));
  /** A task of a schedule, in a run of tasks. */
  const runTask = (schedule, { ms = 0, run = 1 } = {}) => {
    meter.measure(run);
    meter.begin(schedule);
    now += ms;
  };
  return { meter, reads, runTask };
}

/** A schedule that only notes what it is charged. */
function noting() {
  const charges = [];
  return { charges, spend: (ms) => charges.push(ms) };
}

const sum = (numbers) => numbers.reduce((total, number) => total + number, 0);

test('short tasks share a look at the clock, four at most', () => {
  const { reads, runTask } = meterOf();
  const schedule = noting();
  for (let i = 0; i < 1 + 2 + 4 * 25; i += 1) runTask(schedule, { ms: 0.001 });
  // Before the first, after it, after the next two, and then after each four.
  expect(reads).toHaveLength(1 + 1 + 1 + 24);
  expect(schedule.charges.slice(0, 4).map((ms) => Math.round(1000 * ms))).toEqual([1, 2, 4, 4]);
});

test('a long task is charged after three further ones at most, and then each at once', () => {
  const { runTask } = meterOf();
  const schedule = noting();
  for (let i = 0; i < 1 + 2 + 4; i += 1) runTask(schedule); // the next one begins a group of four
  runTask(schedule, { ms: 2 });
  for (let i = 0; i < 3; i += 1) runTask(schedule);
  runTask(schedule, { ms: 3 });
  expect(sum(schedule.charges)).toBe(2);
  const before = schedule.charges.length;
  for (let i = 0; i < 3; i += 1) runTask(schedule, { ms: 3 });
  expect(schedule.charges.slice(before)).toEqual([3, 3, 3]);
});

test('each schedule is charged for its own tasks, and the last one at the end of the run', () => {
  const { meter, runTask } = meterOf();
  const [one, other] = [noting(), noting()];
  runTask(one, { ms: 2 });
  runTask(other, { ms: 3 });
  expect([one.charges, other.charges]).toEqual([[2], []]);
  meter.endRun();
  expect([one.charges, other.charges]).toEqual([[2], [3]]);
});

test('the time between two runs is charged to none', () => {
  const { meter, runTask } = meterOf();
  const schedule = noting();
  runTask(schedule, { ms: 2 });
  meter.endRun();
  now += 7;
  runTask(schedule, { ms: 3, run: 2 });
  meter.endRun();
  expect(schedule.charges).toEqual([2, 3]);
});
