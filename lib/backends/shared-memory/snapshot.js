'use strict';

const { toLockDetails, toLockInfos } = require('./native-decode.js');
const { dateNow, setTimeout } = require('../../time.js');

/** @typedef {import('./native-decode.js').FlatLocks} FlatLocks */
/** @typedef {() => [FlatLocks, FlatLocks] | null} Look  held, pending; null: the table is busy */

/** The pause before another try when the table was busy. */
const RETRY_MS = 2;

/** @param {Look} look */
async function lookUntilSeen(look) {
  for (;;) {
    const flat = look();
    if (flat !== null) return flat;
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
  }
}

/**
 * @param {Look} look
 * @returns {Promise<import('../../../types/locks.d.ts').LockManagerSnapshot>}
 */
async function takeSnapshot(look) {
  const [held, pending] = await lookUntilSeen(look);
  return { held: toLockInfos(held), pending: toLockInfos(pending) };
}

/**
 * @param {Look} look
 * @returns {Promise<import('../../../types/backend.d.ts').LockInspection>}
 */
async function takeInspection(look) {
  const [held, pending] = await lookUntilSeen(look);
  const now = dateNow();
  return { held: toLockDetails(held, now), pending: toLockDetails(pending, now) };
}

/**
 * @param {[FlatLocks, FlatLocks] | null | undefined} flat  null, undefined: not known now
 * @returns {import('../../../types/backend.d.ts').LockDetail[]}
 */
const takeHolders = (flat) => (flat ? toLockDetails(flat[0], dateNow()) : []);

/**
 * @param {number[]} numbers  as the native part returns them
 * @returns {import('../../../types/backend.d.ts').LockTableUsage}
 */
function takeUsage(numbers) {
  const [capacity, usedCells, maxCells, processes, maxProcesses, agents, maxAgents] = numbers;
  const layoutVersion = numbers[7];
  return {
    capacity,
    layoutVersion,
    usedCells,
    maxCells,
    processes,
    maxProcesses,
    agents,
    maxAgents,
  };
}

module.exports = { takeHolders, takeInspection, takeSnapshot, takeUsage };
