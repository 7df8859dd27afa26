'use strict';

const { openAlone } = require('../harness/alone.js');
const { cpuMs } = require('../peers/etcd-server.js');
const { loadPeer } = require('../peers/peers.js');

const SIZES = [1_000, 10_000];
/** Requests or releases at a time: etcd refuses more than 5,000, etcd3 fails before. */
const AT_ONCE = 200;

/**
 * Resolves when the lock is held.
 * @param {import('../peers/peers.js').Opened} locks
 * @param {string} name
 * @returns {Promise<() => Promise<unknown>>} gives it back
 */
const hold = ({ runNamed }, name) =>
  new Promise((granted, failed) => {
    const released = runNamed?.(
      name,
      () =>
        new Promise((resolve) => {
          granted(() => {
            resolve(undefined);
            return /** @type {Promise<unknown>} */ (released);
          });
        }),
    );
    released?.catch(failed);
  });

/**
 * @param {number} count
 * @param {(index: number) => Promise<any>} act
 */
async function inBatches(count, act) {
  const results = [];
  for (let first = 0; first < count; first += AT_ONCE) {
    const length = Math.min(AT_ONCE, count - first);
    results.push(...(await Promise.all(Array.from({ length }, (_, i) => act(first + i)))));
  }
  return results;
}

/**
 * Takes so many names, has all of them, gives them back.
 * @param {import('../peers/peers.js').Opened} locks
 * @param {number} size
 */
async function holdNames(locks, size) {
  const releases = await inBatches(size, (i) => hold(locks, `name ${i}`));
  await inBatches(size, (i) => releases[i]());
}

/**
 * @param {string} peerName
 * @param {{ isEtcd?: boolean }} [options]
 * @returns {import('../harness/scenarios.js').Contender}
 */
const contender = (peerName, { isEtcd = false } = {}) => ({
  whyNot: () => loadPeer(peerName).whyNot?.(),
  async measure() {
    const { directory, locks } = await openAlone(peerName);
    /** @type {Record<string, number>} */
    const figures = {};
    await holdNames(locks, 200); // to be compiled
    for (const size of SIZES) {
      const cpuBefore = isEtcd ? cpuMs(directory) : 0;
      const start = performance.now();
      await holdNames(locks, size);
      figures[`${size} µs`] = ((performance.now() - start) * 1e3) / size;
      if (isEtcd)
        figures[`${size} CPU of the cluster µs`] = ((cpuMs(directory) - cpuBefore) * 1e3) / size;
    }
    return figures;
  },
});

const etcd = (peerName) => contender(peerName, { isEtcd: true });

/** @type {import('../harness/scenarios.js').Scenario} */
module.exports = {
  goal: 16,
  group: 'etcd',
  title: '10,000 names in etcd held at once by one client, per name',
  note: '200 are requested, or released, at a time.',
  rounds: 3,
  contenders: {
    'holdfast, one member': etcd('holdfast-etcd'),
    'two bare transactions, one member': etcd('bare-etcd'),
    'etcd3, one member': etcd('etcd3'),
    'holdfast, three members': etcd('holdfast-etcd-3'),
    'redlock, one Redis': contender('redlock-tcp'),
    'redlock, three Redis': contender('redlock-3'),
    PostgreSQL: contender('postgresql-tcp'),
  },
  goals: [
    {
      of: 'holdfast, one member',
      per: 'holdfast, one member',
      figure: '10000 µs',
      perFigure: '1000 µs',
      atMost: 1.5,
    },
    {
      of: 'holdfast, one member',
      per: 'etcd3, one member',
      figure: '10000 µs',
      atMost: 1,
    },
  ],
  chart: { sizes: SIZES, unit: 'µs', title: 'Cost of a name, so many held at once, µs' },
};
