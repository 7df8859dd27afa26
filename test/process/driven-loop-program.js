'use strict';

// A process whose event loop is driven from outside, as in Electron's main process. It asks for a
// lock in the given place of a turn, and tells when it has asked and when it is granted.

const { writeSync } = require('node:fs');
const { SharedMemoryBackend } = require('../../lib/backends/shared-memory/backend.js');
const { openLockManager } = require('../../lib/index.js');

const [directory, place, addon] = process.argv.slice(2);
const { drive } = require(addon);
/** A few turns pass first, in which the agent can get to know the loop. */
const TURNS_BEFORE = 3;

const backend = new SharedMemoryBackend({ directory, bucket: 'process', sweeps: false });
const locks = openLockManager({ backend });
const tell = (word) => writeSync(1, `${word}\n`);
let isGranted = false;

function ask() {
  locks.request('a', () => {
    isGranted = true;
    tell('granted');
  });
  tell('asked');
}

const PLACES = {
  'outside of the loop': ask,
  'in a timer': () => setTimeout(ask),
  'in an immediate': () => setImmediate(ask),
};

let turns = 0;
function between() {
  process._tickCallback(); // ticks and microtasks, as the program that embeds Node runs them
  turns += 1;
  if (turns < TURNS_BEFORE) setImmediate(() => {});
  if (turns === TURNS_BEFORE) PLACES[place]();
  return !isGranted;
}

setImmediate(() => drive(between));
