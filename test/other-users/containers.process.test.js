'use strict';

const { mkdirSync } = require('node:fs');
const { join } = require('node:path');
const { setTimeout: pause } = require('node:timers/promises');
const { lengthOf } = require('../support/lengths.js');
const { FORKED, NAMESPACES, describeInside } = require('../support/namespaces.js');
const { findViolations, linesOfLog } = require('../support/process-actor-work.js');
const { PROCESS_BACKENDS } = require('../support/process-backends.js');
const { ProcessBucket, untilEqual } = require('../support/process-bucket.js');
const { randomFrom } = require('../support/process-random.js');

// Processes that share the directory and little else, as containers do with a volume. All without
// the sweep. HOLDFAST_SEED=<seed> repeats the draws.
const SEED = Number(process.env.HOLDFAST_SEED ?? Math.floor(Math.random() * 2 ** 31));
const random = randomFrom(SEED);
const THREAD = 'thread of another process';
const HOST_KINDS_IN = { PID: ['process', THREAD] };

/** A broker that is busy for long is not waited for: then no holder is named. */
async function untilNamed(request) {
  for (;;) {
    const { message } = await request().catch((error) => error);
    if (message.includes('held by')) return message;
  }
}

describe.each(Object.keys(PROCESS_BACKENDS))('over %s', (backend) => {
  let bucket;
  const withBucket = (before, after) => {
    before(() => {
      bucket = new ProcessBucket({ backend });
    });
    after(() => bucket.close());
  };

  const holderOf = async (name) =>
    (await bucket.locks.query()).held.find((lock) => lock.name === name)?.clientId;

  /** Two processes in separate namespaces each, and a process in the namespaces of the test. */
  const openThree = (inside, hostKind) =>
    Promise.all([
      bucket.open(hostKind, { inside }),
      bucket.open(hostKind, { inside }),
      bucket.open(hostKind),
    ]);

  describe.each(Object.keys(NAMESPACES))('separate namespaces: %s', (kind) => {
    const inside = NAMESPACES[kind];

    describeInside(inside, 'their processes', () => {
      describe.each(HOST_KINDS_IN[kind] ?? ['process'])('each as a %s', (hostKind) => {
        withBucket(beforeAll, afterAll);
        /** Of all tests here; the last one kills the first of them. */
        let actors;
        beforeAll(async () => {
          actors = await openThree(inside, hostKind);
        });

        test('exclude each other, in the order of their requests', async () => {
          const [a, b, near] = actors;
          const first = await a.hold('x');
          const order = [b, near, a, near, b];
          const requests = [];
          for (const actor of order) requests.push(await actor.request('x'));
          let lastToken = (await first.granted).token;
          let held = first;
          for (const [i, actor] of order.entries()) {
            expect((await bucket.locks.query()).pending).toHaveLength(order.length - i);
            await held.release();
            held = requests[i];
            const { token } = await held.granted;
            expect(token).toBeGreaterThan(lastToken);
            expect(await holderOf('x')).toBe(await actor.clientId());
            lastToken = token;
          }
          await held.release();
        });

        if (kind === 'all of them') {
          test('keep what they hold while they are stopped', async () => {
            const [holder, far, near] = actors;
            const held = await holder.hold('x');
            const waiting = [await far.request('x'), await near.request('x')];
            await holder.freeze();
            for (const actor of [far, near]) {
              expect(await actor.isLocked('x')).toBe(true); // asks whether the holder lives
            }
            expect(await holderOf('x')).toBe(await holder.clientId());
            holder.thaw();
            expect(await held.release('kept')).toEqual({ status: 'fulfilled', value: 'kept' });
            for (const request of waiting) {
              await request.granted;
              await request.release();
            }
          });
        }

        test('free what they hold and wait for when they are killed', async () => {
          const [victim, far, near] = actors;
          for (const name of ['for the far', 'for the near']) await victim.hold(name);
          const release = await bucket.hold('queued for', { mode: 'shared' });
          await victim.request('queued for');
          const waiting = [
            await far.request('for the far'),
            await near.request('for the near'),
            await far.request('queued for', { mode: 'shared' }),
          ];
          victim.endBy(hostKind === 'process' ? 'SIGKILL' : 'SIGKILL of its process');
          await Promise.all(waiting.map(({ granted }) => granted));
          for (const request of waiting) await request.release();
          await release();
          await victim.ended;
          await bucket.isClean({ processes: 2 });
        });
      });
    });
  });

  describeInside(NAMESPACES.PID, 'processes of two PID namespaces', () => {
    withBucket(beforeEach, afterEach);
    const inside = NAMESPACES.PID;
    const pidsSeenBy = async (actor, name) =>
      (await actor.inspectionOf(name)).held.map(({ pid, threadId }) => [pid, threadId]);

    test('with equal process and thread ids are distinguished', async () => {
      const [a, b, near] = await openThree(inside, 'process');
      expect(await Promise.all([a, b].map((actor) => actor.run(() => process.pid)))).toEqual([
        1, 1,
      ]);
      await a.hold('of a');
      await b.hold('of b');
      expect(await pidsSeenBy(a, 'of a')).toEqual([[1, 0]]);
      expect(await pidsSeenBy(near, 'of a')).toEqual([[0, 0]]);
      const waiting = await near.request('of a');
      b.endBy('SIGKILL');
      await untilEqual(() => holderOf('of b'), undefined);
      expect(await holderOf('of a')).toBe(await a.clientId());
      a.endBy('SIGKILL');
      await waiting.granted;
    });

    test('see each other without a process id, state or command', async () => {
      const far = await bucket.open('process', { inside });
      const watch = bucket.locks.watch();
      const event = watch.next();
      await bucket.locks.query(); // the watch has begun
      await far.hold('x');
      expect((await event).value).toMatchObject({ type: 'granted', name: 'x', pid: 0 });
      await watch.return();
      const stranger = { pid: 0, processState: 'unknown', command: '' };
      expect((await bucket.locks.inspect()).held).toMatchObject([stranger]);
      const own = { pid: 1, processState: 'running', command: expect.stringContaining('actor') };
      expect((await far.inspectionOf('x')).held).toMatchObject([own]);
      const message = await untilNamed(() => bucket.locks.request('x', { timeout: 1 }, () => {}));
      expect(message).toMatch('it is held by a process elsewhere, thread 0, for ');
    });

    test('with the /proc of another namespace show no state and command', async () => {
      const actor = await bucket.open('process', { inside: ['unshare', '--pid', ...FORKED] });
      await actor.hold('x');
      const { held } = await actor.inspectionOf('x');
      expect(held).toMatchObject([{ pid: 1, processState: 'unknown', command: '' }]);
    });

    const KILLS = lengthOf(undefined, { whole: 6, part: 3 });
    const LATEST_KILL_MS = 20;

    test(`exclude each other under load and kills (HOLDFAST_SEED=${SEED})`, async () => {
      const killed = new Set();
      let count = 0;
      const start = async (index) => {
        const actor = await bucket.open('process', index === 0 ? {} : { inside });
        const who = `worker-${(count += 1)}`; // their process ids are equal
        await actor.command('startWork', { seed: random(2 ** 31), names: ['a', 'b'], who });
        return { actor, who };
      };
      const workers = await Promise.all([0, 1, 2].map(start));
      for (let kills = 0; kills < KILLS; kills += 1) {
        for (const { actor } of workers) {
          const before = await actor.command('stepsOfWork');
          await untilEqual(async () => (await actor.command('stepsOfWork')) > before, true);
        }
        await pause(random(LATEST_KILL_MS)); // the moment is what is drawn
        const index = random(workers.length);
        const { actor, who } = workers[index];
        killed.add(who);
        actor.endBy('SIGKILL');
        await actor.ended;
        workers[index] = await start(index);
      }
      await Promise.all(workers.map(({ actor }) => actor.command('stopWork')));
      await untilEqual(() => bucket.locks.query(), { held: [], pending: [] });
      expect(await findViolations(linesOfLog(bucket.directory), killed)).toEqual([]);
    });
  });

  const OWN_MOUNTS = ['unshare', '--mount'];
  const MOUNTED_ELSEWHERE = 'mount --bind "$0" "$1" && shift && exec "$@"';

  describeInside(OWN_MOUNTS, 'processes of two mount namespaces', () => {
    withBucket(beforeEach, afterEach);
    test('share the bucket where the directory has another path for each', async () => {
      const elsewhere = join(bucket.directory, 'elsewhere');
      mkdirSync(elsewhere);
      const inside = [
        ...OWN_MOUNTS,
        ...['sh', '-c', MOUNTED_ELSEWHERE, bucket.directory, elsewhere],
      ];
      const far = await bucket.open('process', { inside, directory: elsewhere });
      const held = await far.hold('x');
      expect(await holderOf('x')).toBe(await far.clientId());
      const waiting = bucket.hold('x');
      await held.release();
      await (
        await waiting
      )();
    });
  });
});
