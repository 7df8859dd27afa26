'use strict';

const { channel } = require('node:diagnostics_channel');
const { priorityOf } = require('./signal-priority.js');

/** @typedef {import('./scheduler-task.js').SchedulerTask} SchedulerTask */

const start = channel('scheduler.task.start');
const end = channel('scheduler.task.end');

/**
 * Runs a task, and tells who has subscribed. Both messages are the same object.
 * @param {SchedulerTask} task
 * @param {object} scheduler  that it was posted to
 */
function runObserved(task, scheduler) {
  if (!start.hasSubscribers && !end.hasSubscribers) {
    task.run();
    return;
  }
  const { state, isContinuation, enqueuedAt } = task;
  const source = state.prioritySource;
  const priority = typeof source === 'string' ? source : priorityOf(source)?.value;
  const message = { scheduler, priority, isContinuation, enqueuedAt };
  start.publish(message);
  task.run();
  end.publish(message);
}

module.exports = { runObserved };
