'use strict';

// A process whose system calls may fail: runs the orders of its parent on a bucket, one after the
// other, and reports the outcomes.

const { closeSync, openSync, readdirSync } = require('node:fs');
const { setImmediate: nextTurn } = require('node:timers/promises');
const { loadBinding } = require('../../lib/binding.js');
const { openLockManager } = require('../../lib/index.js');
const { threadsOf } = require('../support/process-counts.js');

loadBinding(); // that is not what is to fail

/** The possible rejections and errors of opening: a user can act on each. */
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
  /** Settles with the request; reports when it was made, and its grant, if there is one. */
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
  async requestMany({ prefix, count }) {
    const ends = await Promise.allSettled(
      Array.from({ length: count }, (_, i) => locks.request(`${prefix} ${i}`, () => nextTurn())),
    );
    const reasons = ends.filter(({ reason }) => reason !== undefined);
    return {
      granted: count - reasons.length,
      errors: reasons.map(({ reason }) => describe(reason)),
    };
  },
  async check() {
    await locks.query();
    await locks.inspect();
    return locks.isLocked('a');
  },
  close() {
    locks.close();
    locks = undefined;
  },
  /** Takes all descriptors that this process may have, except so many. */
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
  /** The resources that this process keeps: descriptors and threads. */
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
