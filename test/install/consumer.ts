// The code of an application, for `npm test -- install types`: compiled, never run.
import {
  AsyncLock,
  createLocalLockManager,
  createScheduler,
  DeadlockError,
  LockError,
  LockLostError,
  locks,
  Mutex,
  openLockManager,
  scheduler,
  Semaphore,
  TaskController,
  type LockEvent,
  type LockHandle,
  type LockInfo,
} from 'holdfast';

export async function use(): Promise<string> {
  const total: number = await locks.request('a', async (lock) => Number(lock.token));
  const refused: boolean = await locks.request('a', { ifAvailable: true }, (lock) => lock === null);
  const handle: LockHandle = await locks.acquire('a', { mode: 'shared', limit: 2 });
  handle.release();
  const { held }: { held: LockInfo[] } = await locks.query();
  const sum: number = await locks.requestAll(['a', 'b'], ([a, b]) => a.name.length + b.name.length);
  for await (const event of locks.watch('a')) {
    const { type }: LockEvent = event;
    if (type === 'released') break;
  }
  const release = await new Mutex('m').acquire({ timeout: 5 });
  release();
  await new Semaphore('s', 2).runExclusive((lock) => lock.name);
  const low = new TaskController({ priority: 'background' });
  await scheduler.postTask(() => total, { signal: low.signal });
  await createScheduler({ budget: 1 }).yield();
  void new AsyncLock(new SharedArrayBuffer(4)).executeLocked(() => refused);
  openLockManager({ bucket: 'b' }).close();
  return `${held.length} ${sum} ${createLocalLockManager().isLocked('a')}`;
}

export function why(error: unknown): string {
  if (error instanceof LockLostError) return error.reason;
  if (error instanceof DeadlockError) return error.cycle[0].name;
  return error instanceof LockError ? error.reason : 'other';
}
