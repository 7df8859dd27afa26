// Checked by `npm run types`, never run: each line that is marked must be refused by the compiler.

import { AsyncLock, LockError, LockManager, locks, Mutex, Semaphore } from 'holdfast';
import type { Lock, LockHandle, MutexRelease } from 'holdfast';

/** Fails to compile unless the two types are the same. */
type Same<A, B> =
  (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : never;
function same<A, B>(isSame: Same<A, B>): void {
  void isSame;
}

const manager: LockManager = locks;
const mutex = new Mutex('a', { manager });
new Mutex();
// @ts-expect-error the name is a string
new Mutex(7);
// @ts-expect-error an unset variable is no name
new Mutex(process.env.NAME);
// @ts-expect-error no manager
new Mutex('a', { manager: {} });

const release = mutex.acquire({ mode: 'shared', timeout: 5, blocking: true });
same<typeof release, Promise<MutexRelease>>(true);
const perhaps = mutex.acquire({ ifAvailable: true });
same<typeof perhaps, Promise<MutexRelease | null>>(true);
async function useRelease() {
  await using one = await mutex.acquire();
  using other = await mutex.acquire({ steal: true });
  one();
  same<typeof other.lock, LockHandle>(true);
}
useRelease();

const result = mutex.runExclusive(async (lock) => (same<typeof lock, Lock>(true), 7));
same<typeof result, Promise<number>>(true);
mutex.runShared((lock) => same<typeof lock, Lock | null>(true), { ifAvailable: true });
mutex.runExclusive(() => {}, { reentrant: true, deadlock: 'ignore' });
mutex.runShared(() => {}, { deadlock: 'reject', limit: 3 });
mutex.acquire({ mode: 'shared', limit: 3, deadlock: 'reject' });
// @ts-expect-error a handle is in no callback
mutex.acquire({ reentrant: true });
// @ts-expect-error the method decides about the mode
mutex.runShared(() => {}, { mode: 'exclusive' });
same<typeof mutex.locked, boolean>(true);
const unlocked: Promise<void> = mutex.waitForUnlock({ timeout: 5 });
void unlocked;
// @ts-expect-error read-only
mutex.locked = false;

const semaphore = new Semaphore('a', 3, { manager });
new Semaphore(undefined, 3);
// @ts-expect-error how many?
new Semaphore('a');
const permit = semaphore.acquire({ blocking: false });
same<typeof permit, Promise<MutexRelease>>(true);
semaphore.runExclusive(() => {}, { deadlock: 'ignore', reentrant: true });
// @ts-expect-error a permit has no mode
semaphore.acquire({ mode: 'shared' });

const lock = new AsyncLock(new SharedArrayBuffer(8), 4);
lock.lock();
lock.unlock();
const executed = lock.executeLocked(async () => 'done');
same<typeof executed, Promise<string>>(true);
// @ts-expect-error a buffer that can be shared
new AsyncLock(new ArrayBuffer(8));

function explain(error: unknown): string {
  return error instanceof LockError ? error.reason : 'another error';
}
explain(new Error());
