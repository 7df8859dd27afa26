'use strict';

const { lengthOf } = require('../support/lengths.js');
const { PROCESS_BACKENDS } = require('../support/process-backends.js');
const { ProcessBucket, untilEqual } = require('../support/process-bucket.js');

// An event loop that does not run keeps what it holds, and nothing from the others.
describe.each(Object.keys(PROCESS_BACKENDS))('over %s', (backend) => {
  let bucket;
  beforeEach(() => {
    bucket = new ProcessBucket({ backend });
  });
  afterEach(() => bucket.close());

  const HOST_KINDS = ['process', 'thread', 'thread of another process'];
  const BLOCKED_MS = lengthOf(undefined, { whole: 1000, part: 300 });

  /** Lets the others take turns with a lock, for so long at least; each turn ends. */
  async function handOver(others, name) {
    let lastToken = 0n;
    let turns = 0;
    let held = await others[0].hold(name);
    const end = process.hrtime.bigint() + BigInt(BLOCKED_MS) * 1_000_000n;
    do {
      const next = await others[(turns + 1) % others.length].request(name);
      await held.release();
      const { token } = await next.granted;
      expect(token).toBeGreaterThan(lastToken);
      lastToken = token;
      held = next;
      turns += 1;
    } while (process.hrtime.bigint() < end);
    await held.release();
  }

  describe.each(HOST_KINDS)('while the loop of a %s is blocked', (hostKind) => {
    let blocked;
    let others;
    beforeEach(async () => {
      [blocked, ...others] = await Promise.all([
        bucket.open(hostKind),
        bucket.open('process'),
        bucket.open('thread'),
      ]);
    });

    test('others hand over their locks, and what it holds stays its own', async () => {
      const held = await blocked.hold('its own');
      const waiting = await others[0].request('its own');
      await blocked.block();
      await handOver(others, 'of the others');
      expect((await bucket.locks.query()).held).toMatchObject([
        { name: 'its own', clientId: await blocked.clientId() },
      ]);
      blocked.go();
      await held.release();
      await waiting.granted;
      await waiting.release();
    });

    test('it is granted what it waits for, and runs its callback afterwards', async () => {
      const release = await bucket.hold('a');
      const requested = await blocked.request('a');
      await blocked.block();
      await release();
      await handOver(others, 'of the others');
      expect((await bucket.locks.query()).held).toMatchObject([
        { name: 'a', clientId: await blocked.clientId() },
      ]);
      const time = process.hrtime.bigint();
      blocked.go();
      expect((await requested.granted).at).toBeGreaterThan(time);
      await requested.release();
    });

    test('a process that dies before it in the queue does not stop those behind it', async () => {
      const victim = await bucket.open('process');
      await victim.hold('a', { mode: 'shared' });
      await blocked.request('a', { mode: 'exclusive' });
      await blocked.block();
      const late = await others[0].request('a');
      victim.endBy('SIGKILL');
      const next = [{ name: 'a', mode: 'exclusive', clientId: await blocked.clientId() }];
      await untilEqual(async () => (await bucket.locks.query()).held, next);
      await blocked.end(); // with its grant on its way
      await late.granted;
      await late.release();
    });
  });

  test('a process whose every loop is blocked still cleans up after the dead for others', async () => {
    const [holder, middle, last] = await Promise.all(
      ['process', 'process', 'process'].map((hostKind) => bucket.open(hostKind)),
    );
    await holder.hold('a');
    const first = await middle.request('a', { mode: 'shared' });
    const second = await last.request('a', { mode: 'shared' }); // watches only the one before it
    await middle.block();
    holder.endBy('SIGKILL');
    await second.granted;
    await second.release();
    middle.go();
    await first.granted;
    await first.release();
    await bucket.isClean({ processes: 2 });
  });
});
