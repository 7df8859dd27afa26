'use strict';

// A process whose event loop is driven from outside, as in Electron's main process. In the given
// phase of a turn it asks for a lock, or watches. It reports the request, its event, and whether
// the doorbell is quiet then.

const { readdirSync, readlinkSync, writeSync } = require('node:fs');
const { SharedMemoryBackend } = require('../../lib/backends/shared-memory/backend.js');
const { openLockManager } = require('../../lib/index.js');

const [directory, what, phase, addon] = process.argv.slice(2);
const { drive, isReadable } = require(addon);

const backend = new SharedMemoryBackend({ directory, bucket: 'process', sweeps: false });
const locks = openLockManager({ backend });
const report = (word) => writeSync(1, `${word}\n`);
let hasStarted = false;
let hasReported = false;
let isOver = false;

function receive(word) {
  isOver = true;
  report(word);
}

function makeRequest() {
  locks.request('a', () => receive('granted'));
  hasStarted = true;
}

function watch() {
  const first = locks.watch()[Symbol.asyncIterator]().next();
  first.then(({ value }) => receive(value.type));
  hasStarted = true;
}

const START = { 'asks for a lock': makeRequest, watches: watch };
const PHASES = {
  'outside of the loop': (start) => start(),
  'in a timer': (start) => setTimeout(start),
  'in an immediate': (start) => setImmediate(start),
};

function doorbell() {
  const isDoorbell = (fd) => {
    try {
      return /\/a\d+-\d+-\d+$/.test(readlinkSync(`/proc/self/fd/${fd}`));
    } catch {
      return false; // the folder was read with it
    }
  };
  return Number(readdirSync('/proc/self/fd').find(isDoorbell));
}

// Electron has such a handle, too: libuv does nothing for a loop that nothing keeps alive.
setInterval(() => {}, 1_000_000);

const MAX_TURNS = 100;
let turns = 0;
/** Whether nothing makes the loop come round again and again any more, or it does so for ever. */
const isAtRest = () => !isReadable(doorbell()) || (turns += 1) > MAX_TURNS;

let hasTurned = false;
let isStarted = false;
function between() {
  if (hasTurned && !isStarted) {
    isStarted = true; // nothing else keeps the loop from sleeping now
    PHASES[phase](START[what]);
  }
  process._tickCallback(); // ticks and microtasks, as the program that embeds Node runs them
  if (hasStarted && !hasReported) {
    hasReported = true; // the loop sleeps next
    report('asked');
  }
  return !isOver || !isAtRest();
}

// In the turn of the timer the agent gets to know the loop.
setTimeout(() => (hasTurned = true), 1);
setImmediate(() => {
  drive(between);
  report(isReadable(doorbell()) ? 'rings on' : 'quiet');
});
