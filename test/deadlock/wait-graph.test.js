'use strict';

const fc = require('fast-check');
const { runAtOnce } = require('../../lib/sliced.js');
const { DEADLOCK_MS, WaitGraph } = require('../../lib/locks/deadlock/wait-graph.js');

const SEED = Number(process.env.HOLDFAST_SEED ?? Math.floor(Math.random() * 2 ** 31));

/** The details that the graph reads: 'a2 < 1' is request 2 for 'a', made inside lock 1. */
function detail(text, { mode = 'exclusive', limit = 0, holdLimit = 0, ...about } = {}) {
  const [, name, number, outer] = /^(\w)(\d+)(?: < (\d+))?$/.exec(text);
  const enclosingToken = outer === undefined ? null : BigInt(outer);
  return {
    requestId: Number(number),
    clientId: 'me',
    name,
    mode,
    limit,
    holdLimit,
    enclosingToken,
    since: Number(number),
    waited: DEADLOCK_MS,
    ...about,
  };
}

const shared = (text, limit = 0) => detail(text, { mode: 'shared', limit });

/** A graph, and what it says of requests that are named like 'a2'. */
function graphOf({ held, pending }) {
  const graph = WaitGraph.of({
    held: held.map((lock) => ({ ...lock, token: BigInt(lock.requestId) })),
    pending: pending.map((request) => ({ ...request, token: null })),
  });
  const find = (text) => graph.find('me', Number(text.slice(1)));
  const toText = ({ name, requestId }) => `${name}${requestId}`;
  return {
    isStuck: (text) => graph.isStuck(find(text)),
    cycleOf: (text) => runAtOnce(graph.findCycle(find(text))).map(toText),
    deadlocks: graph.deadlocks.map((deadlock) => ({
      members: deadlock.members.map(toText).sort(),
      victim: toText(deadlock.victim),
      behind: graph.countBehind(deadlock),
    })),
  };
}

describe('a graph', () => {
  test('of two that wait for each other has a cycle through both', () => {
    const graph = graphOf({
      held: [detail('a1'), detail('b2')],
      pending: [detail('b3 < 1'), detail('a4 < 2')],
    });
    expect(graph.cycleOf('b3')).toEqual(['b3', 'a4']);
    expect(graph.cycleOf('a4')).toEqual(['a4', 'b3']);
  });

  test('a request that waits for itself has a cycle of one', () => {
    const graph = graphOf({ held: [detail('a1')], pending: [detail('a2 < 1')] });
    expect(graph.cycleOf('a2')).toEqual(['a2']);
  });

  test('of two in a queue behind a holder has none', () => {
    const graph = graphOf({
      held: [detail('a1')],
      pending: [detail('a2 < 9'), detail('a3')],
    });
    expect(graph.isStuck('a2')).toBe(false);
    expect(graph.cycleOf('a3')).toEqual([]);
  });

  test('knows the locks around the innermost one', () => {
    const graph = graphOf({
      held: [detail('a1'), detail('c2 < 1'), detail('b3')],
      pending: [detail('b4 < 2'), detail('a5 < 3')],
    });
    expect(graph.cycleOf('a5')).toEqual(['a5', 'b4']);
  });

  test('has no cycle through a request that only waits for others in it', () => {
    const graph = graphOf({
      held: [detail('a1'), detail('c2')],
      pending: [detail('a3 < 1'), detail('a4 < 2'), detail('c5')],
    });
    expect(graph.cycleOf('a3')).toEqual(['a3']);
    expect(graph.isStuck('a4')).toBe(true);
    expect(graph.cycleOf('a4')).toEqual([]);
    expect(graph.cycleOf('c5')).toEqual([]);
  });

  test('waits through an exclusive request that stands before a shared one', () => {
    const graph = graphOf({
      held: [shared('a1'), detail('b2')],
      pending: [detail('a3 < 2'), shared('a4 < 9'), detail('b5 < 1')],
    });
    expect(graph.cycleOf('b5')).toEqual(['b5', 'a3']);
    expect(graph.isStuck('a4')).toBe(true);
  });

  test('continues where one of several holders of a semaphore can end', () => {
    const held = [shared('a1', 2), shared('a2', 2)];
    const inside = shared('a3 < 1', 2);
    expect(graphOf({ held, pending: [inside] }).isStuck('a3')).toBe(false);
    const both = [inside, shared('a4 < 2', 2)];
    const graph = graphOf({ held, pending: both });
    expect(graph.isStuck('a3') && graph.isStuck('a4')).toBe(true);
    expect(graph.deadlocks).toMatchObject([{ members: ['a3', 'a4'] }]);
  });

  test('has one deadlock of all cycles that meet; those that only wait for it are behind it', () => {
    const graph = graphOf({
      held: [shared('a1'), shared('a2'), detail('b3'), detail('c4')],
      pending: [
        detail('a5 < 3'),
        detail('b6 < 1'),
        detail('b7 < 2'),
        detail('a8 < 4'),
        detail('c9'),
      ],
    });
    expect(graph.deadlocks).toEqual([{ members: ['a5', 'b6', 'b7'], victim: 'b7', behind: 2 }]);
    expect(graph.isStuck('a8')).toBe(true);
  });

  test('has no deadlock before each of its requests has waited for a second', () => {
    const held = [detail('a1'), detail('b2')];
    const young = { waited: DEADLOCK_MS - 1 };
    expect(
      graphOf({ held, pending: [detail('b3 < 1'), detail('a4 < 2', young)] }).deadlocks,
    ).toEqual([]);
    // The young one beside a cycle that has stood for long is in no cycle yet.
    const pending = [detail('b3 < 1'), detail('a4 < 2'), detail('b5 < 1', young)];
    expect(graphOf({ held, pending }).deadlocks).toEqual([
      { members: ['a4', 'b3'], victim: 'a4', behind: 1 },
    ]);
  });

  test('has the youngest one as the victim, of those with reject if there is one', () => {
    const victimOf = (...pending) =>
      graphOf({ held: [detail('a1'), detail('b2'), detail('c3')], pending }).deadlocks[0].victim;
    const reject = { deadlock: 'reject' };
    expect(victimOf(detail('b5 < 1'), detail('c6 < 2'), detail('a4 < 3'))).toBe('c6');
    expect(victimOf(detail('b5 < 1', reject), detail('c6 < 2'), detail('a4 < 3', reject))).toBe(
      'b5',
    );
    // Also of one millisecond, in whatever order they are read.
    const since = { since: 5 };
    const [x, y] = [detail('b8 < 1', since), detail('a9 < 2', since)];
    expect(victimOf(x, y)).toBe('a9');
    expect(victimOf(y, x)).toBe('a9');
  });

  test('continues where a hold is limited', () => {
    const held = [detail('a1', { holdLimit: 5 })];
    expect(graphOf({ held, pending: [detail('a2 < 1')] }).isStuck('a2')).toBe(false);
  });

  test('ends although a corrupted table says that two locks are inside each other', () => {
    const graph = graphOf({
      held: [detail('a1 < 2'), detail('b2 < 1')],
      pending: [detail('b3 < 1')],
    });
    expect(graph.cycleOf('b3')).toEqual(['b3']);
  });
});

/** Ends every request that can end, by the rules of the lock table, until none can. */
function namesOfStuck(held, pending) {
  const holders = new Set(held);
  const queue = [...pending];
  const isInside = (request, holder) => {
    const outer = held.find(({ requestId }) => BigInt(requestId) === request.enclosingToken);
    return outer !== undefined && (outer === holder || isInside(outer, holder));
  };
  const isFirst = (request) => queue.find(({ name }) => name === request.name) === request;
  const canBeGranted = ({ name, mode, limit }) => {
    const others = [...holders].filter((holder) => holder.name === name);
    if (mode === 'exclusive') return others.length === 0;
    const isFree = others.every((holder) => holder.mode === 'shared');
    return isFree && (limit === 0 || others.length < limit);
  };
  for (;;) {
    const ended = [...holders].find((holder) => !queue.some((other) => isInside(other, holder)));
    if (ended !== undefined) {
      holders.delete(ended);
      continue;
    }
    const granted = queue.find((request) => isFirst(request) && canBeGranted(request));
    if (granted === undefined) return queue.map(({ name, requestId }) => `${name}${requestId}`);
    queue.splice(queue.indexOf(granted), 1);
    holders.add({ ...granted, enclosingToken: null });
  }
}

test(`the requests left after all possible ends are stuck (HOLDFAST_SEED=${SEED})`, () => {
  const spec = fc.record({
    name: fc.constantFrom('a', 'b', 'c'),
    isShared: fc.boolean(),
    limit: fc.integer({ min: 0, max: 2 }),
    outer: fc.integer({ min: 0, max: 6 }),
  });
  const specs = fc.array(spec, { maxLength: 6 });
  /** Held locks have the numbers from 1 and are inside older ones; 0 is none. */
  const toDetail = (firstNumber, { name, isShared, limit, outer }, i) => {
    const inside = outer > 0 && outer < firstNumber + i ? ` < ${outer}` : '';
    const text = `${name}${firstNumber + i}${inside}`;
    return isShared ? shared(text, limit) : detail(text);
  };
  fc.assert(
    fc.property(specs, specs, (heldSpecs, pendingSpecs) => {
      const held = heldSpecs.map((one, i) => toDetail(1, one, i));
      const pending = pendingSpecs.map((one, i) => toDetail(100, one, i));
      const graph = graphOf({ held, pending });
      const names = pending.map(({ name, requestId }) => `${name}${requestId}`);
      expect(names.filter(graph.isStuck)).toEqual(namesOfStuck(held, pending));
    }),
    { seed: SEED, numRuns: 5000 },
  );
});

test('the work grows with the requests, not faster', () => {
  /** As many holders of c that wait for d, whose holder waits for c. */
  const stepsOf = (count) => {
    const held = [detail('d1')];
    const pending = [detail('c2 < 1')];
    for (let i = 0; i < count; i += 1) {
      held.push(shared(`c${10 + i}`));
      pending.push(detail(`d${100_000 + i} < ${10 + i}`));
    }
    const inspection = {
      held: held.map((lock) => ({ ...lock, token: BigInt(lock.requestId) })),
      pending: pending.map((request) => ({ ...request, token: null })),
    };
    const work = WaitGraph.build(inspection);
    for (let steps = 1; ; steps += 1) {
      const { done, value: graph } = work.next();
      if (!done) continue;
      expect(graph.deadlocks[0].members).toHaveLength(count + 1);
      return steps;
    }
  };
  expect(stepsOf(4000) / stepsOf(1000)).toBeLessThan(5);
});
