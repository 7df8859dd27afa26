'use strict';

const { GRANTED, MISSED, QUEUED } = require('../../lib/backends/outcome.js');
const { testBackendExtras } = require('./backend-extras-contract.js');
const { testBackendWatch } = require('./backend-watch-contract.js');
const { RecordedRequest, isHeld, untilHeld } = require('./recorded-request.js');

const infosOf = (infos, clientIds) =>
  infos.map(({ name, mode, clientId }) => [name, mode, clientIds.indexOf(clientId)]);

/**
 * The contract of a backend as tests.
 * @param {string} title
 * @param {() => { first: object, second: object }} open  two agents of a new, empty bucket
 * @param {object} [about]
 * @param {() => void} [about.cleanUp]
 * @param {number} [about.most]  requests at a time: of a backend that answers late, few
 * @param {number} [about.comfortableMs]  longer than two statements take
 * @param {boolean} [about.grantsLater]  than the release, not with it
 */
function describeBackendContract(title, open, about = {}) {
  const { cleanUp = () => {}, most = 3_000, comfortableMs = 250, grantsLater = false } = about;
  const checkHeld = grantsLater ? untilHeld : isHeld;

  describe(title, () => {
    let first;
    let second;

    beforeEach(() => {
      ({ first, second } = open());
    });
    afterEach(() => {
      first.close();
      second.close();
      cleanUp();
    });

    /** Makes a request; its outcome is asserted. */
    function makeRequest(backend, outcome, ...args) {
      const request = new RecordedRequest(...args);
      expect(backend.enqueue(request)).toBe(outcome);
      return request;
    }

    async function snapshot() {
      const { held, pending } = await first.snapshot();
      const clientIds = [first.clientId, second.clientId];
      return { held: infosOf(held, clientIds), pending: infosOf(pending, clientIds) };
    }

    /**
     * Resolves when everything that was on its way to the two agents before has arrived: each of
     * them was notified of a grant that was decided after it.
     */
    async function settle() {
      for (const backend of [first, second]) {
        const holder = new RecordedRequest('contract: settle');
        // After events that have arrived, a grant is reported later.
        if (backend.enqueue(holder) === QUEUED) await holder.until('granted');
        const waiting = makeRequest(backend, QUEUED, 'contract: settle');
        backend.release(holder);
        await waiting.until('granted');
        backend.release(waiting);
      }
    }

    test('enqueue() grants a free lock', async () => {
      const request = makeRequest(first, GRANTED, 'a');
      await settle();
      expect(request.notices).toEqual([]);
      expect(await snapshot()).toEqual({ held: [['a', 'exclusive', 0]], pending: [] });
    });

    test('enqueue() queues behind a holder, and granted() follows the release', async () => {
      const holder = makeRequest(first, GRANTED, 'a');
      const waiting = makeRequest(second, QUEUED, 'a', { mode: 'shared' });
      expect(await snapshot()).toEqual({
        held: [['a', 'exclusive', 0]],
        pending: [['a', 'shared', 1]],
      });
      first.release(holder);
      expect(waiting.notices).toEqual([]); // never from inside
      await waiting.until('granted');
      expect(await snapshot()).toEqual({ held: [['a', 'shared', 1]], pending: [] });
    });

    test('enqueue() misses for ifAvailable where it would queue, and leaves nothing behind', async () => {
      makeRequest(first, GRANTED, 'a');
      const missed = makeRequest(second, MISSED, 'a', { ifAvailable: true });
      await settle();
      expect(missed.notices).toEqual([]);
      expect(await snapshot()).toEqual({ held: [['a', 'exclusive', 0]], pending: [] });
    });

    test('enqueue() with steal is granted, and the holders are notified later that they lost', async () => {
      const victims = [
        makeRequest(first, GRANTED, 'a', { mode: 'shared' }),
        makeRequest(second, GRANTED, 'a', { mode: 'shared' }),
      ];
      const queued = makeRequest(second, QUEUED, 'a');
      makeRequest(second, GRANTED, 'a', { steal: true });
      for (const victim of victims) expect(victim.notices).toEqual([]);
      for (const victim of victims) await victim.until('lost: stolen');
      await settle();
      for (const victim of victims) expect(victim.notices).toEqual(['lost: stolen']);
      expect(queued.notices).toEqual([]);
    });

    test('release() after the loss has no effect', async () => {
      const victim = makeRequest(first, GRANTED, 'a');
      makeRequest(second, GRANTED, 'a', { steal: true });
      await victim.until('lost: stolen');
      expect(first.release(victim)).toBeUndefined();
      expect(await snapshot()).toEqual({ held: [['a', 'exclusive', 1]], pending: [] });
    });

    test('release() says that the lock was lost before, and lost() does not follow', async () => {
      const victim = makeRequest(first, GRANTED, 'a');
      makeRequest(first, GRANTED, 'a', { steal: true });
      expect(first.release(victim)).toBe('stolen');
      await settle();
      expect(victim.notices).toEqual([]);
      expect(await snapshot()).toEqual({ held: [['a', 'exclusive', 0]], pending: [] });
    });

    test('cancel() frees the place at once', async () => {
      makeRequest(first, GRANTED, 'a', { mode: 'shared' });
      const writer = makeRequest(second, QUEUED, 'a');
      const reader = makeRequest(first, QUEUED, 'a', { mode: 'shared' });
      second.cancel(writer);
      await reader.until('granted');
      await settle();
      expect(writer.notices).toEqual([]);
      expect(await snapshot()).toEqual({
        held: [
          ['a', 'shared', 0],
          ['a', 'shared', 0],
        ],
        pending: [],
      });
    });

    test('cancel() of a request whose grant is on its way releases it, and it is never notified', async () => {
      const holder = makeRequest(first, GRANTED, 'a');
      const cancelled = makeRequest(first, QUEUED, 'a');
      const next = makeRequest(second, QUEUED, 'a');
      first.release(holder);
      checkHeld(first, 'a'); // by the second request, which has still to be notified
      first.cancel(cancelled);
      await next.until('granted');
      await settle();
      expect(cancelled.notices).toEqual([]);
      expect(await snapshot()).toEqual({ held: [['a', 'exclusive', 1]], pending: [] });
    });

    test('a grant on its way that is stolen ends in lost(), granted() may be left out', async () => {
      const holder = makeRequest(first, GRANTED, 'a');
      const victim = makeRequest(first, QUEUED, 'a');
      first.release(holder);
      checkHeld(first, 'a');
      makeRequest(second, GRANTED, 'a', { steal: true });
      await victim.until('lost: stolen');
      await settle();
      expect(victim.notices.at(-1)).toBe('lost: stolen');
      expect(victim.notices.filter((what) => what !== 'granted')).toEqual(['lost: stolen']);
    });

    test('tokens rise, and are set before the grant is reported', async () => {
      const requests = [makeRequest(first, GRANTED, 'a'), makeRequest(second, GRANTED, 'b')];
      const waiting = makeRequest(second, QUEUED, 'a');
      first.release(requests[0]);
      await waiting.until('granted');
      const tokens = [...requests, waiting].map(({ token }) => token);
      expect(tokens[0]).toBeGreaterThan(0n);
      expect(tokens[1]).toBeGreaterThan(tokens[0]);
      expect(tokens[2]).toBeGreaterThan(tokens[1]);
    });

    test('a request object serves once, others are not confused by what its end has freed', async () => {
      const early = makeRequest(first, GRANTED, 'a');
      first.release(early);
      makeRequest(first, GRANTED, 'b');
      first.release(early);
      first.cancel(early);
      expect(await snapshot()).toEqual({ held: [['b', 'exclusive', 0]], pending: [] });
    });

    test('close() drops what the agent holds and waits for, and notifies each request', async () => {
      const held = makeRequest(first, GRANTED, 'a');
      const ownWaiting = makeRequest(first, QUEUED, 'a');
      const otherWaiting = makeRequest(second, QUEUED, 'a');
      first.close();
      expect(held.notices).toEqual(['lost: disconnected']);
      expect(ownWaiting.notices).toEqual(['failed: AbortError']);
      await otherWaiting.until('granted');
      const { held: shown, pending } = await second.snapshot();
      expect(shown).toEqual([{ name: 'a', mode: 'exclusive', clientId: second.clientId }]);
      expect(pending).toEqual([]);
    });

    test('close() drops a grant that is on its way', async () => {
      const holder = makeRequest(first, GRANTED, 'a');
      const onItsWay = makeRequest(first, QUEUED, 'a');
      const other = makeRequest(second, QUEUED, 'a');
      first.release(holder);
      checkHeld(first, 'a');
      first.close();
      await Promise.all([onItsWay.until('failed: AbortError'), other.until('granted')]);
      expect(onItsWay.notices).toEqual(['failed: AbortError']);
    });

    test('after close() enqueue() throws, a release changes nothing, a second close() too', () => {
      const held = makeRequest(first, GRANTED, 'a');
      first.close();
      expect(() => first.enqueue(new RecordedRequest('a'))).toThrow(
        expect.objectContaining({ name: 'InvalidStateError' }),
      );
      first.release(held);
      first.close();
      makeRequest(second, GRANTED, 'a');
    });

    test('clientId is a UUID, another one for each agent', () => {
      const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
      expect(first.clientId).toMatch(uuid);
      expect(second.clientId).toMatch(uuid);
      expect(first.clientId).not.toBe(second.clientId);
    });

    test('thousands of requests leave nothing behind', async () => {
      const holder = makeRequest(first, GRANTED, 'a');
      const waiting = Array.from({ length: most }, (_, index) =>
        makeRequest(index % 2 ? first : second, QUEUED, 'a', { mode: 'shared' }),
      );
      waiting.slice(0, most / 3).forEach((request, index) => {
        (index % 2 ? first : second).cancel(request);
      });
      first.release(holder);
      await Promise.all(waiting.slice(most / 3).map((request) => request.until('granted')));
      waiting.slice(most / 3).forEach((request, index) => {
        (index % 2 ? first : second).release(request);
      });
      expect(await snapshot()).toEqual({ held: [], pending: [] });
    });

    describe('beyond the standard', () =>
      testBackendExtras(() => ({ first, second }), { comfortableMs, checkHeld }));

    describe('watch()', () => testBackendWatch(() => ({ first, second }), checkHeld));
  });
}

module.exports = { describeBackendContract };
