'use strict';

const { closeSync, mkdtempSync, openSync, rmSync, writeFileSync, writeSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { FaultyProcess } = require('../support/faulty-process.js');
const { describeInside } = require('../support/namespaces.js');
const { randomFrom } = require('../support/process-random.js');

// The whole path of two processes where the file system of the bucket, or a process, has no room.
// HOLDFAST_SEED=<seed> repeats the draws.
const SEED = Number(process.env.HOLDFAST_SEED ?? Math.floor(Math.random() * 2 ** 31));
const random = randomFrom(SEED);

const KIB = 1024;
const SMALL_CAPACITY = 1 << 20;
const DEFAULT_CAPACITY = 64 << 20; // of which more than 2 MB have to be there at once
/** The headers of the shards, as src/segment/layout.h has them. */
const [FIRST_SHARD, SHARD_BYTES, WATCHED_AT] = [4096, 256, 28];
const MANY = { prefix: 'many', count: 6_000 }; // need more than the capacity

let directory;
let processes;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'holdfast-'));
  processes = [];
});
afterEach(async () => {
  await Promise.all(processes.map((each) => each.kill()));
  rmSync(directory, { recursive: true, force: true });
});

const start = (options) => {
  const started = new FaultyProcess(options);
  processes.push(started);
  return started;
};
const bucketIn = (mount, capacity = SMALL_CAPACITY) => ({
  directory: join(mount, 'locks'),
  bucket: 'full',
  capacity,
});

/** Marks each shard as watched: events go to a ring that has no memory yet. */
function corrupt(mount) {
  const file = openSync(join(mount, 'locks', 'full', 'segment'), 'r+');
  const odd = new Uint8Array(new Uint32Array([1]).buffer);
  for (let shard = 0; shard < 64; shard += 1) {
    writeSync(file, odd, 0, odd.length, FIRST_SHARD + shard * SHARD_BYTES + WATCHED_AT);
  }
  closeSync(file);
}

const isClear = ({ name, message }, names) => {
  expect(names).toContain(name);
  expect(message).toMatch(/full|too many open files|no room|larger|capacity/i);
};

/** Two want one lock; the holder leaves it on an order. */
async function contend(a, b) {
  const first = a.request('a');
  expect(await Promise.race([first.granted, first.settled])).toBe('granted');
  const second = b.request('a');
  await second.requested;
  await a.order('leave');
  expect(await first.settled).toEqual({ value: 'left' });
  expect(await Promise.race([second.granted, second.settled])).toBe('granted');
  await b.order('leave');
  expect(await second.settled).toEqual({ value: 'left' });
}

const FULL = ['QuotaExceededError'];

/** The words that start a program on a separate tmpfs, mounted at the directory. */
const onTmpfs = (options) => [
  ...['unshare', '--mount', 'sh', '-c'],
  ...[`mount -t tmpfs -o mode=700,${options} none "$0" && exec "$@"`, directory],
];

describeInside(['unshare', '--mount'], `on a small tmpfs (HOLDFAST_SEED=${SEED})`, () => {
  /** Two processes on one; `mount` leads this process there. */
  async function startTwo(options) {
    const a = start({ inside: onTmpfs(options) });
    await a.order('count'); // it runs
    const b = start({ inside: ['nsenter', `--mount=/proc/${a.pid}/ns/mnt`] });
    return { a, b, mount: `/proc/${a.pid}/root${directory}` };
  }
  const fill = (mount, bytes) => writeFileSync(join(mount, 'filler'), Buffer.alloc(bytes, 1));
  const empty = (mount) => rmSync(join(mount, 'filler'), { force: true });

  test.each([64, 256, 1024])(
    'of %d KB there is no room for a large bucket, which is said',
    async (kib) => {
      const { a, b } = await startTwo(`size=${kib}k`);
      for (const each of [a, b]) {
        isClear((await each.order('open', bucketIn(directory, DEFAULT_CAPACITY))).error, FULL);
        expect((await each.order('close')).error).toBeUndefined();
      }
    },
  );

  test.each([64, 256, 1024])(
    'of %d KB requests are granted or say that it is full',
    async (kib) => {
      const { a, b, mount } = await startTwo(`size=${kib}k`);
      const room = kib * KIB;
      for (const each of [a, b]) await each.order('open', bucketIn(directory));
      for (let round = 0; round < 3; round += 1) {
        try {
          fill(mount, random(room));
        } catch (error) {
          expect(error.code).toBe('ENOSPC');
        }
        const answers = await Promise.all([
          a.order('requestMany', { ...MANY, prefix: 'a' }),
          b.order('requestMany', { ...MANY, prefix: 'b' }),
        ]);
        for (const { value, error } of answers) {
          expect(error).toBeUndefined();
          for (const each of value.errors.slice(0, 10)) isClear(each, FULL);
        }
        empty(mount);
        await contend(a, b);
      }
      expect((await a.order('check')).value).toBe(false);
    },
  );

  test.each([
    ['NO_SPACE', 'the file system', true],
    ['SEGMENT_FULL', 'the lock table', false],
  ])('the error is %s if %s has no room', async (reason, words, isFilled) => {
    const { a, mount } = await startTwo('size=8m');
    await a.order('open', bucketIn(directory));
    if (isFilled) expect(() => fill(mount, 8 << 20)).toThrow('ENOSPC');
    const { value } = await a.order('requestMany', MANY);
    expect(value.errors[0].reason).toBe(reason);
    expect(value.errors[0].message).toContain(words);
  });

  test('a bucket that could not be made is made once there is room', async () => {
    const { a, b, mount } = await startTwo(`size=4m`);
    fill(mount, 3500 * KIB);
    const options = bucketIn(directory, DEFAULT_CAPACITY);
    isClear((await a.order('open', options)).error, FULL);
    empty(mount);
    for (const each of [a, b]) {
      expect(await each.order('open', options)).toEqual({ value: 'opened' });
    }
    await contend(a, b);
  });

  test('corruption that leads to memory which a full one never had ends no process', async () => {
    const { a, b, mount } = await startTwo('size=8m');
    const options = bucketIn(directory, DEFAULT_CAPACITY);
    const each = [a, b];
    const requestOnAll = async () => {
      const answers = await Promise.all(
        each.map((one, i) => one.order('requestMany', { prefix: `${i}`, count: 300 })),
      );
      return answers.map(({ value }) => value.granted);
    };
    for (const one of each) expect(await one.order('open', options)).toEqual({ value: 'opened' });
    expect(await requestOnAll()).toEqual([300, 300]); // each shard has memory for requests
    expect(() => fill(mount, 8 << 20)).toThrow('ENOSPC');
    corrupt(mount);
    for (const granted of await requestOnAll()) expect(granted).toBeGreaterThan(0);
    await contend(a, b);
  });

  // Root of the mount, directory, bucket, segment, two files for each process.
  test.each([3, 4, 5, 6, 7, 8])('of %d inodes a bucket opens or says why not', async (inodes) => {
    const { a, b } = await startTwo(`size=4m,nr_inodes=${inodes}`);
    const opened = [];
    for (const each of [a, b]) {
      const { error } = await each.order('open', bucketIn(directory));
      if (error === undefined) opened.push(each);
      else isClear(error, FULL);
    }
    expect(opened).toHaveLength(inodes < 6 ? 0 : inodes < 8 ? 1 : 2);
    if (opened.length === 2) return contend(a, b);
    for (const each of opened) await contend(each, each);
    // A closed lock manager makes room for the next.
    for (const each of [a, b]) await each.order('close');
    const next = await b.order('open', bucketIn(directory));
    if (inodes < 6) isClear(next.error, FULL);
    else expect(next).toEqual({ value: 'opened' });
  });
});

const FEW_DESCRIPTORS = ['sh', '-c', 'ulimit -n 64; exec "$0" "$@"'];

test.each([0, 1, 2, 3, 4, 5, 6, 7, 8])(
  'with %d descriptors left everything settles',
  async (spare) => {
    const few = start({ inside: FEW_DESCRIPTORS });
    const other = start();
    const options = bucketIn(directory);
    await other.order('open', options);
    await few.order('takeDescriptors', { leave: spare });
    const { error } = await few.order('open', options);
    // The first use of the package loads code; when that fails, the error is Node's own.
    if (error !== undefined) isClear(error, [...FULL, 'Error']);
    else await contend(other, few);
    await few.order('close');
    await few.order('giveDescriptorsBack');
    expect(await few.order('open', options)).toEqual({ value: 'opened' });
    await contend(few, other);
  },
);
