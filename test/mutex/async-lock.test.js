'use strict';

const { once } = require('node:events');
const { Worker } = require('node:worker_threads');
const { spawnSync } = require('node:child_process');
const { readFileSync } = require('node:fs');
const path = require('node:path');
const vm = require('node:vm');
const { AsyncLock, LockError } = require('../../lib/index.js');

const LIBRARY = path.join(__dirname, '../../lib/index.js');
const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

let buffer;
let lock;
let word;
beforeEach(() => {
  buffer = new SharedArrayBuffer(16);
  lock = new AsyncLock(buffer, 4);
  word = new Int32Array(buffer, 4, 1);
});

/** A worker that runs `body` with the lock and a counter beside it. */
function startWorker(body, workerData = buffer) {
  const program = `
    const { parentPort, workerData } = require('node:worker_threads');
    const { AsyncLock } = require(${JSON.stringify(LIBRARY)});
    const lock = new AsyncLock(workerData, 4);
    const counter = new Int32Array(workerData, 8, 1);
    (${body})({ lock, counter, parentPort });`;
  return new Worker(program, { eval: true, workerData });
}

test('is one word of the buffer, at the offset that was asked for', () => {
  lock.lock();
  expect([...new Int32Array(buffer)]).toEqual([0, 1, 0, 0]);
  lock.unlock();
  expect([...new Int32Array(buffer)]).toEqual([0, 0, 0, 0]);
});

test('locks of one word are one', () => {
  lock.lock();
  new AsyncLock(buffer, 4).unlock();
  expect(() => lock.unlock()).toThrow(LockError);
});

test('the calls of one thread take turns, over all locks of one word', async () => {
  const order = [];
  const makeRequest = async (key, own) => {
    for (let times = 0; times < 20; times += 1) {
      await own.executeLocked(async () => {
        order.push(key);
        await nextTurn();
      });
    }
  };
  await Promise.all([
    makeRequest('a', lock),
    makeRequest('b', lock),
    makeRequest('c', new AsyncLock(buffer, 4)),
  ]);
  expect(order.join('')).toBe('abc'.repeat(20));
});

test('a buffer of another realm is a buffer; nothing else is', () => {
  const foreign = vm.runInNewContext('new SharedArrayBuffer(8)');
  new AsyncLock(foreign).lock();
  expect(new Int32Array(foreign)[0]).toBe(1);
  const others = [new ArrayBuffer(8), {}, null, Object.create(SharedArrayBuffer.prototype)];
  for (const other of others) expect(() => new AsyncLock(other)).toThrow(TypeError);
});

test.each([[NaN], [{}], [4.5], [2], [-4], [16], ['four']])(
  'the byte offset %p is refused, and is not the start of the buffer',
  (offset) => {
    expect(() => new AsyncLock(buffer, offset)).toThrow(RangeError);
  },
);

test('unlock() throws when it is not locked, and leaves it so', () => {
  expect(() => lock.unlock()).toThrow(expect.objectContaining({ reason: 'not locked' }));
  lock.lock();
  lock.unlock();
  expect(() => lock.unlock()).toThrow(LockError);
});

test('an uncontended unlock wakes no thread', () => {
  const notify = jest.spyOn(Atomics, 'notify');
  lock.lock();
  lock.unlock();
  expect(notify).not.toHaveBeenCalled();
  notify.mockRestore();
});

describe('executeLocked()', () => {
  test('gives what the callback gives, and keeps the lock until that has settled', async () => {
    const states = [];
    const value = await lock.executeLocked(async () => {
      await nextTurn();
      states.push(word[0]);
      return 'value';
    });
    expect([value, states, word[0]]).toEqual(['value', [1], 0]);
  });

  test('never runs the callback inside the call', async () => {
    let isInside = true;
    const result = lock.executeLocked(() => isInside);
    isInside = false;
    expect(await result).toBe(false);
  });

  test.each([
    [
      'throws',
      () => {
        throw new Error('mine');
      },
    ],
    ['rejects', () => Promise.reject(new Error('mine'))],
  ])('releases when the callback %s', async (_, callback) => {
    await expect(lock.executeLocked(callback)).rejects.toThrow('mine');
    expect(word[0]).toBe(0);
  });

  test('rejects with a TypeError for what is no function', async () => {
    await expect(lock.executeLocked('callback')).rejects.toThrow(TypeError);
    expect(word[0]).toBe(0);
  });

  test('many of one thread run one at a time', async () => {
    let inside = 0;
    let max = 0;
    let count = 0;
    await Promise.all(
      Array.from({ length: 50 }, () =>
        lock.executeLocked(async () => {
          inside += 1;
          max = Math.max(max, inside);
          await nextTurn();
          inside -= 1;
          count += 1;
        }),
      ),
    );
    expect([max, count, word[0]]).toEqual([1, 50, 0]);
  });

  test('waits without blocking the event loop', async () => {
    lock.lock();
    const waiting = lock.executeLocked(() => 'entered');
    await nextTurn();
    lock.unlock();
    expect(await waiting).toBe('entered');
  });
});

test('lock() in workers and executeLocked() on the main thread at the same time', async () => {
  const counter = new Int32Array(buffer, 8, 1);
  const rounds = 2_000;
  // The counter is read and written without atomics: only the lock keeps the sum right.
  const workers = [1, 2].map(() =>
    startWorker(`({ lock, counter }) => {
      for (let round = 0; round < ${rounds}; round += 1) {
        lock.lock();
        const before = counter[0];
        for (let spin = 0; spin < 50; spin += 1);
        counter[0] = before + 1;
        lock.unlock();
      }
    }`),
  );
  const exits = workers.map((worker) => once(worker, 'exit'));
  for (let round = 0; round < rounds; round += 1) {
    await lock.executeLocked(async () => {
      const before = counter[0];
      if (round % 100 === 0) await nextTurn();
      counter[0] = before + 1;
    });
  }
  expect(await Promise.all(exits)).toEqual([[0], [0]]);
  expect(counter[0]).toBe(3 * rounds);
  expect(word[0]).toBe(0);
});

test('lock() in a worker waits for the unlock() of the main thread', async () => {
  lock.lock();
  const worker = startWorker(`({ lock, parentPort }) => {
    parentPort.postMessage('waits');
    lock.lock();
    parentPort.postMessage('entered');
    lock.unlock();
  }`);
  const messages = [];
  worker.on('message', (message) => messages.push(message));
  const exit = once(worker, 'exit');
  while (messages.length === 0 || word[0] !== 2) await nextTurn(); // it sleeps, or will at once
  messages.push('unlock');
  lock.unlock();
  await exit;
  expect(messages).toEqual(['waits', 'unlock', 'entered']);
});

test('executeLocked() on the main thread waits for a worker that blocks no other', async () => {
  const worker = startWorker(`({ lock, parentPort }) => {
    lock.lock();
    parentPort.postMessage('locked');
    parentPort.once('message', () => lock.unlock());
  }`);
  await once(worker, 'message');
  const waiting = lock.executeLocked(() => 'entered');
  worker.postMessage('unlock');
  expect(await waiting).toBe('entered');
});

test('a wait keeps the event loop alive, what is over does not', () => {
  const inWorker = `
    const { workerData } = require('node:worker_threads');
    const { AsyncLock } = require(${JSON.stringify(LIBRARY)});
    setTimeout(() => new AsyncLock(workerData).unlock(), 50);`;
  const program = `
    const { Worker } = require('node:worker_threads');
    const { AsyncLock } = require(${JSON.stringify(LIBRARY)});
    const workerData = new SharedArrayBuffer(4);
    const lock = new AsyncLock(workerData);
    lock.lock();
    new Worker(${JSON.stringify(inWorker)}, { eval: true, workerData }).unref();
    lock.executeLocked(() => console.log('entered'));`;
  const { stdout, status } = spawnSync(process.execPath, ['-e', program], {
    encoding: 'utf8',
    timeout: 50_000,
  });
  expect([stdout, status]).toEqual(['entered\n', 0]);
});

test.each([new ArrayBuffer(4), new Int32Array(1), {}, undefined])(
  'another buffer is a TypeError: %p',
  (other) => {
    expect(() => new AsyncLock(other)).toThrow(TypeError);
  },
);

test.each([2, 16, -4])('the offset %p is a RangeError', (offset) => {
  expect(() => new AsyncLock(buffer, offset)).toThrow(RangeError);
});

describe('a worker that is woken and ends before it takes the lock leaves it', () => {
  /** A waiter whose thread receives no message. */
  async function startDeafWaiter() {
    const worker = startWorker(({ lock: shared, parentPort }) => {
      shared.executeLocked(() => {});
      parentPort.postMessage('asleep');
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
    });
    await once(worker, 'message');
    return worker;
  }

  test('to a waiting event loop', async () => {
    lock.lock();
    const worker = await startDeafWaiter();
    const other = lock.executeLocked(() => 'taken');
    lock.unlock(); // wakes the waiter that has slept longest
    await worker.terminate();
    expect(await other).toBe('taken');
  });

  test('to a blocked thread', async () => {
    lock.lock();
    const worker = await startDeafWaiter();
    const blocked = startWorker(({ lock: shared, parentPort }) => {
      parentPort.postMessage(require('node:fs').readlinkSync('/proc/thread-self'));
      shared.lock();
      parentPort.postMessage('taken');
    });
    const [thread] = await once(blocked, 'message');
    const isAsleep = () => / S /.test(readFileSync(`/proc/${thread}/stat`, 'utf8'));
    while (!isAsleep());
    const taken = once(blocked, 'message');
    lock.unlock();
    await worker.terminate();
    expect(await taken).toEqual(['taken']);
  });
});
