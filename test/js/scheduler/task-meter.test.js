'use strict';

const { TaskMeter } = require('../../../lib/scheduler/task-meter.js');

const spin = (ms) => {
  for (const end = performance.now() + ms; performance.now() < end;);
};

function meterOf() {
  const looks = [];
  const meter = new TaskMeter((now) => looks.push(now));
  return { meter, looks };
}

/** A schedule that only notes what it is charged. */
const scheduleOf = () => ({ spent: 0, spend: (ms) => ms, charges: [] });

function noting() {
  const schedule = scheduleOf();
  schedule.spend = (ms) => schedule.charges.push(ms);
  return schedule;
}

test('short tasks share a look at the clock, four at most', () => {
  const { meter, looks } = meterOf();
  const schedule = noting();
  for (let i = 0; i < 101; i += 1) {
    meter.look(1);
    meter.begin(schedule);
  }
  // All are short unless the machine was elsewhere, which only adds looks.
  expect(looks.length).toBeGreaterThanOrEqual(1 + 2 + 24);
  expect(looks.length).toBeLessThanOrEqual(101);
});

test('a long task is charged after three further ones at most, and then each at once', () => {
  const { meter } = meterOf();
  const schedule = noting();
  const charged = () => schedule.charges.reduce((sum, ms) => sum + ms, 0);
  for (let i = 0; i < 20; i += 1) {
    meter.look(1);
    meter.begin(schedule);
  }
  for (let i = 0; i < 4; i += 1) {
    spin(2);
    meter.look(1);
    meter.begin(schedule);
  }
  expect(charged()).toBeGreaterThanOrEqual(2);
  for (let i = 0; i < 3; i += 1) {
    const before = charged();
    spin(2);
    meter.look(1);
    meter.begin(schedule);
    expect(charged() - before).toBeGreaterThanOrEqual(2);
  }
});

test('each schedule is charged for its own tasks, and the last one at the end of the run', () => {
  const { meter } = meterOf();
  const [one, other] = [noting(), noting()];
  meter.look(1);
  meter.begin(one);
  spin(2);
  meter.look(1);
  meter.begin(other);
  meter.endRun();
  expect(one.charges).toHaveLength(1);
  expect(one.charges[0]).toBeGreaterThanOrEqual(2);
  expect(other.charges).toHaveLength(1);
});

test('the time between two runs is charged to none', () => {
  const { meter } = meterOf();
  const schedule = noting();
  meter.look(1);
  meter.begin(schedule);
  meter.endRun();
  const before = [...schedule.charges];
  spin(2);
  meter.look(2);
  expect(schedule.charges).toEqual(before);
});
