'use strict';

// A process whose system calls may fail: does to a bucket what its parent says, one order after the
// other, and tells what came of it.

const { closeSync, openSync, readdirSync } = require('node:fs');
const { setImmediate: nextTurn } = require('node:timers/promises');
const { loadBinding } = require('../../lib/binding.js');
const { openLockManager } = require('../../lib/index.js');
const { threadsOf } = require('../support/process-counts.js');

loadBinding(); // that is not what is to fail

/** What a promise may reject with, and what opening may throw: something that a user can act on. */
const describe = ({ name, message, reason }) => ({ name, message, reason });

let locks;
let leave;
const taken = [];

const ORDERS = {
  async open(options) {
    locks = openLockManager(options);
    await locks.query(); // the first use opens the bucket
    return 'opened';
  },
  /** Settles with the request; tells when it was made, and of the grant, if there is one. */
  async request({ name, options }) {
    const request = locks.request(name, options, () => {
      process.send({ event: 'granted' });
      return new Promise((resolve) => (leave = () => resolve('left')));
    });
    process.send({ event: 'asked' });
    return request;
  },
  leave() {
    leave();
  },
  /** Asks for so many names at once; gives how many were granted, and the errors of the others. */
  async askForMany({ prefix, count }) {
    const ends = await Promise.allSettled(
      Array.from({ length: count }, (_, i) => locks.request(`${prefix} ${i}`, () => nextTurn())),
    );
    const reasons = ends.filter(({ reason }) => reason !== undefined);
    return {
      granted: count - reasons.length,
      errors: reasons.map(({ reason }) => describe(reason)),
    };
  },
  async look() {
    await locks.query();
    await locks.inspect();
    return locks.isLocked('a');
  },
  close() {
    locks.close();
    locks = undefined;
  },
  /** Takes all descriptors that this process may have, but for so many. */
  takeDescriptors({ leave: spare }) {
    try {
      for (;;) taken.push(openSync('/dev/null'));
    } catch (error) {
      if (error.code !== 'EMFILE') throw error;
    }
    for (let i = 0; i < spare; i += 1) closeSync(taken.pop());
  },
  giveDescriptorsBack() {
    for (const fd of taken.splice(0)) closeSync(fd);
  },
  /** What this process keeps: descriptors and threads. */
  count: () => [readdirSync('/proc/self/fd').length, threadsOf('self').length],
};

process.on('message', async ({ id, order, argument }) => {
  try {
    process.send({ id, value: await ORDERS[order](argument) });
  } catch (error) {
    process.send({ id, error: describe(error) });
  }
});
process.on('disconnect', () => process.exit());
