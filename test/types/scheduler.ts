// Checked by `npm run types`, never run: each line that is marked must be refused by the compiler.

import {
  cancelIdleCallback,
  createScheduler,
  IdleDeadline,
  requestIdleCallback,
  Scheduler,
  scheduler,
  TaskController,
  TaskPriorityChangeEvent,
  TaskSignal,
} from 'holdfast';
import type { SchedulerInspection, SchedulerPostTaskOptions, TaskPriority } from 'holdfast';

/** Fails to compile unless the two types are the same. */
type Same<A, B> =
  (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : never;
function same<A, B>(isSame: Same<A, B>): void {
  void isSame;
}

// The result of postTask() is what the callback gives, awaited.
const number = scheduler.postTask(() => 1);
same<typeof number, Promise<number>>(true);
const text = scheduler.postTask(async () => 'text');
same<typeof text, Promise<string>>(true);
const nothing = scheduler.yield();
same<typeof nothing, Promise<undefined>>(true);

// Arguments.
const controller = new TaskController({ priority: 'background' });
scheduler.postTask(() => {}, { signal: controller.signal, priority: 'user-blocking', delay: 1 });
scheduler.postTask(() => {}, { signal: new AbortController().signal, priority: undefined });
declare const options: SchedulerPostTaskOptions;
scheduler.postTask(() => {}, options);
// @ts-expect-error no callback
scheduler.postTask();
// @ts-expect-error the callback gets no arguments
scheduler.postTask((argument: number) => argument);
// @ts-expect-error no such priority
scheduler.postTask(() => {}, { priority: 'high' });
// @ts-expect-error a controller is no signal
scheduler.postTask(() => {}, { signal: controller });
// @ts-expect-error a dictionary is no priority
new TaskController('background');
// @ts-expect-error no such priority
controller.setPriority('high');
// @ts-expect-error illegal constructor
new Scheduler();
// @ts-expect-error illegal constructor
new TaskSignal();
// @ts-expect-error illegal constructor
new IdleDeadline();

// Signals.
same<typeof controller.signal, TaskSignal>(true);
const signal: AbortSignal = controller.signal;
fetch('https://example.org/', { signal: controller.signal });
const any = TaskSignal.any([signal, controller.signal], { priority: controller.signal });
same<typeof any, TaskSignal>(true);
same<typeof any.priority, TaskPriority>(true);
any.onprioritychange = (event) => same<typeof event.previousPriority, TaskPriority>(true);
any.onprioritychange = null;
const onPriorityChange = (event: TaskPriorityChangeEvent) => void event.previousPriority;
any.addEventListener('prioritychange', onPriorityChange, { once: true });
any.addEventListener('prioritychange', (event) => void event.previousPriority);
any.removeEventListener('prioritychange', onPriorityChange);
any.addEventListener('abort', (event) => same<typeof event, Event>(true), { once: true });
any.addEventListener('abort', { handleEvent: (event) => void event.type });
any.removeEventListener('abort', () => {});
const asSignal: AbortSignal = any;
void asSignal;
// @ts-expect-error an abort has no previous priority
any.addEventListener('abort', onPriorityChange);
// @ts-expect-error the priority is read-only
any.priority = 'background';
// @ts-expect-error only a TaskSignal has a priority to follow
TaskSignal.any([], { priority: signal });
new TaskPriorityChangeEvent('prioritychange', { previousPriority: 'background', bubbles: true });
// @ts-expect-error the previous priority is required
new TaskPriorityChangeEvent('prioritychange', {});

// Beyond the standard.
const own = createScheduler({ budget: 2, starvationLimit: 100 });
same<typeof own, Scheduler>(true);
const inspection: SchedulerInspection = own.inspect();
const age: number | undefined = inspection['user-blocking'].oldestAge;
void age;

// Idle callbacks.
const handle = requestIdleCallback((deadline) => deadline.timeRemaining(), { timeout: 1_000 });
same<typeof handle, number>(true);
cancelIdleCallback(handle);
