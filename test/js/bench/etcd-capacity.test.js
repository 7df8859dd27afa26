'use strict';

const { fitCosts } = require('../../../bench/capacity/fit.js');
const { clusterOf, simulate } = require('../../../bench/capacity/simulate.js');

/** Round numbers: a commit of five members takes at least SYNC + 2 PEER. */
const COSTS = {
  frontMs: 0.1,
  applyMs: 0.05,
  roundMs: 0.1,
  followMs: 0.1,
  sendMs: 0.02,
  eventMs: 0.05,
  keepAliveMs: 0.05,
  clientCpuMs: 0.1,
  syncMs: 1,
  peerMs: 0.2,
  clientMs: 0.2,
};
/** What is under way when the time begins, or ends. */
const EDGE = 0.02;
const ask = (question) => simulate({ costs: COSTS, size: 5, clients: 30, ms: 200, ...question });

const QUESTIONS = [
  ['one member', { size: 1 }],
  ['three members', { size: 3 }],
  ['five members', {}],
  ['all on two processors', { isOneMachine: true, asksLeader: true, threads: 1 }],
  ['names that twenty want', { waiters: 20 }],
  ['names of several clusters', { clusters: 3 }],
  ['sessions that only live', { sessions: 500 }],
  ['locks that are held for a time', { waiters: 5, holdMs: 2 }],
];

describe.each(QUESTIONS)('%s', (_, question) => {
  test('every transaction is answered, is in every member, and every event is told', () => {
    expect(ask(question)).toMatchObject({ isAtRest: true, underWay: 0 });
  });

  test('a lock is two transactions', () => {
    const { entries, locks } = ask(question);
    expect(entries).toBe(2 * locks);
  });

  test('no lock has two holders', () => {
    expect(ask(question).overlaps).toBe(0);
  });

  test('the seed decides all', () => {
    expect(ask({ ...question, seed: 7 })).toEqual(ask({ ...question, seed: 7 }));
    expect(ask({ ...question, seed: 8 })).not.toEqual(ask({ ...question, seed: 7 }));
  });
});

test.each([1, 3, 5])('%i members carry no more than the bounds of their processors', (size) => {
  const cores = 2;
  const question = { size, clients: 100, cores, asksLeader: true, ms: 1_500 };
  const { locksPerSecond, leaderBusy } = ask(question);
  const { frontMs, applyMs } = COSTS;
  expect(leaderBusy).toBeLessThan(1 + EDGE);
  expect(2 * locksPerSecond).toBeLessThan(((1 + EDGE) * cores * 1e3) / (frontMs + applyMs));
  expect(2 * locksPerSecond).toBeLessThan(((1 + EDGE) * 1e3) / applyMs); // one after the other
});

test('a lonely lock takes two writes to disk and four ways at least', () => {
  const { lockMs } = ask({ clients: 1, ms: 4_000 });
  const { syncMs, peerMs, clientMs } = COSTS;
  // Of each time half is certain: see spread().
  expect(lockMs).toBeGreaterThan(2 * (0.5 * syncMs + 2 * 0.5 * peerMs + 2 * 0.5 * clientMs));
});

test('a commit waits for a majority, and one member is a majority of one', () => {
  const costs = { ...COSTS, peerMs: 50 };
  const [one, five] = [1, 5].map((size) =>
    ask({ costs, size, clients: 1, ms: 4_000, asksLeader: true }),
  );
  expect(one.lockMs).toBeLessThan(50);
  expect(five.lockMs).toBeGreaterThan(2 * (2 * 0.5 * 50)); // of two ways half is certain
});

test('more clients share a write to disk', () => {
  const [few, many] = [1, 200].map((clients) => ask({ clients }));
  expect(few.perRound).toBeLessThan(1.2);
  expect(many.perRound).toBeGreaterThan(10);
});

test('one name is limited by the time of a commit, however many want it', () => {
  const [few, many] = [10, 100].map((waiters) => ask({ clients: waiters, waiters, ms: 2_000 }));
  expect(many.locksPerSecond).toBeLessThan(1.2 * few.locksPerSecond);
  expect(1e3 / many.locksPerSecond).toBeGreaterThan(0.5 * COSTS.syncMs);
});

test('a hand-off is one event, however many wait', () => {
  const { eventsPerSecond, locksPerSecond } = ask({ clients: 100, waiters: 100, ms: 2_000 });
  expect(eventsPerSecond / locksPerSecond).toBeGreaterThan(0.9);
  expect(eventsPerSecond / locksPerSecond).toBeLessThan(1.1);
});

test('keep-alives come five times in a TTL, and cost the leader', () => {
  const [without, with1000] = [0, 1_000].map((sessions) =>
    ask({ clients: 1, sessions, ms: 2_000 }),
  );
  expect(with1000.keepAlivesPerSecond).toBeGreaterThan(490);
  expect(with1000.keepAlivesPerSecond).toBeLessThan(510);
  expect(with1000.leaderBusy).toBeGreaterThan(without.leaderBusy);
});

test('four clusters carry about four times what one does, where one is full', () => {
  const [one, four] = [1, 4].map((clusters) => ask({ clusters, clients: 400, cores: 1 }));
  const ratio = four.locksPerSecond / one.locksPerSecond;
  expect(ratio).toBeGreaterThan(2.5);
  expect(ratio).toBeLessThan(4.5);
});

test('names are spread over the clusters', () => {
  const counts = [0, 0, 0, 0];
  for (let i = 0; i < 4_000; i += 1) counts[clusterOf(`name ${i}`, 4)] += 1;
  expect(Math.min(...counts)).toBeGreaterThan(800);
  expect(Math.max(...counts)).toBeLessThan(1_200);
});

test('the costs that made the measurements are found again', () => {
  const { frontMs, applyMs, roundMs, followMs, sendMs, eventMs } = COSTS;
  const { keepAliveMs, clientCpuMs, syncMs } = COSTS;
  const measure = (size, clients, perRound, { waiters = 1, events = 0, keepAlives = 0 } = {}) => {
    const [rounds, followers] = [perRound === 0 ? 0 : 1_000, size - 1];
    const entries = rounds * perRound;
    const writing = entries * (frontMs + applyMs) + rounds * (roundMs + sendMs * followers);
    const leaderCpuMs = writing + events * eventMs + keepAlives * keepAliveMs;
    const followerCpuMs = entries * applyMs + rounds * followMs;
    const cpuMs = { leaderCpuMs, followerCpuMs, clientCpuMs: entries * clientCpuMs };
    const counts = { entries, rounds, events, keepAlives, locks: entries / 2 };
    return { size, clients, waiters, seconds: 5, syncMs, ...counts, ...cpuMs };
  };
  const measured = [
    measure(1, 1, 1),
    measure(1, 64, 20),
    measure(1, 8, 2, { waiters: 8, events: 1_000 }),
    measure(1, 0, 0, { keepAlives: 3_000 }),
    measure(3, 1, 1),
    measure(3, 64, 30),
  ];
  const fitted = fitCosts(measured);
  const ways = ['clientMs', 'peerMs']; // what is left of the time
  for (const name of Object.keys(COSTS).filter((it) => !ways.includes(it))) {
    expect(fitted[name]).toBeCloseTo(COSTS[name], 6);
  }
});
