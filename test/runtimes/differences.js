'use strict';

// Tests that cannot pass on a runtime, by name, each with the reason. proofs.test.js shows on the
// runtime itself that a reason holds: where it holds no longer, the list has to be shorter.

/**
 * @typedef {object} Difference
 * @property {string[]} on  names of runtimes; `plain` is Node without the native part
 * @property {keyof typeof REASONS} reason
 * @property {string} file
 * @property {string} test  its title, without the block's title
 */

const REASONS = {
  loop: 'JavaScript cannot run ahead of timers and I/O, and cannot detect an idle loop',
  contexts: 'some callbacks get the async context of their maker, and no hook reports them',
  trust: 'events that a program makes are never trusted',
};

/** @type {Difference[]} */
const DIFFERENCES = [
  {
    on: ['bun', 'deno', 'plain'],
    reason: 'loop',
    file: 'event-loop',
    test: 'user-blocking tasks and user-visible continuations run ahead of timers that are due',
  },
  {
    on: ['bun', 'deno', 'plain'],
    reason: 'loop',
    file: 'event-loop',
    test: 'user-blocking tasks run ahead of I/O that is ready',
  },
  {
    on: ['bun', 'deno', 'plain'],
    reason: 'loop',
    file: 'event-loop',
    test: 'background tasks run only when timers, immediates and other tasks are done',
  },
  {
    on: ['bun', 'deno', 'plain'],
    reason: 'loop',
    file: 'idle-callback',
    test: 'callbacks run in the order of the requests, after all tasks',
  },
  {
    on: ['bun', 'deno', 'plain'],
    reason: 'loop',
    file: 'idle-callback',
    test: 'timeout calls back in an event loop that is never idle, not early',
  },
  {
    on: ['bun', 'deno'],
    reason: 'contexts',
    file: 'continuation-not-inherited',
    test: 'by timers, immediates, ticks, events, I/O and messages, nor by what awaits in them',
  },
  {
    on: ['bun', 'deno'],
    reason: 'trust',
    file: 'task-controller',
    test: 'prioritychange is trusted, as an event that the platform fires',
  },
];

/**
 * @param {string} runtime
 * @param {string} file
 * @param {string} title  with the titles of its blocks
 * @returns {keyof typeof REASONS | undefined} why the test does not count there
 */
function differenceOf(runtime, file, title) {
  return DIFFERENCES.find(
    (difference) =>
      difference.on.includes(runtime) &&
      file.endsWith(`/${difference.file}.conformance.test.js`) &&
      title.endsWith(` › ${difference.test}`),
  )?.reason;
}

module.exports = { DIFFERENCES, REASONS, differenceOf };
