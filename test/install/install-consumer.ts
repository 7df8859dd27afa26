// The code of an application with the globals, for `npm test -- install types`: compiled, never
// run. The library `dom` declares some of these itself.
import 'holdfast/install';
import { Lock as HoldfastLock } from 'holdfast';

export async function use(): Promise<number> {
  const total: number = await navigator.locks.request('a', async (lock) =>
    lock === null ? 0 : lock.name.length,
  );
  const refused: boolean = await navigator.locks.request(
    'a',
    { mode: 'shared', ifAvailable: true },
    (lock) => lock === null,
  );
  const { held, pending } = await navigator.locks.query();
  const controller = new TaskController({ priority: 'background' });
  controller.setPriority('user-visible');
  const { signal } = controller;
  const sum: number = await scheduler.postTask(() => total, { signal, delay: 1 });
  await scheduler.yield();
  const handle: number = requestIdleCallback(
    (deadline) => {
      if (!deadline.didTimeout) deadline.timeRemaining();
    },
    { timeout: 1 },
  );
  cancelIdleCallback(handle);
  return refused ? sum : (held?.length ?? 0) + (pending?.length ?? 0);
}

export const isInterface = (value: unknown): boolean =>
  value instanceof HoldfastLock ||
  value instanceof Lock ||
  value instanceof LockManager ||
  value instanceof Scheduler ||
  value instanceof TaskSignal ||
  value instanceof TaskPriorityChangeEvent ||
  value instanceof IdleDeadline;
