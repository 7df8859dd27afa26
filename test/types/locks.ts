// Checked by `npm run types`, never run: each line that is marked must be refused by the compiler.

import core, {
  createLocalLockManager,
  DeadlockError,
  Lock,
  LockLostError,
  LockManager,
  locks,
  openLockManager,
} from 'holdfast';
import type {
  LockDetail,
  LockEvent,
  LockHandle,
  LockInfo,
  LockLossReason,
  LockManagerInspection,
  LockManagerSnapshot,
  LockMode,
  LockOptions,
  TaskSignal,
} from 'holdfast';
import type { LockBackend, LockBackendRequest } from 'holdfast/backend';
// @ts-expect-error a backend's types are exported by 'holdfast/backend' only
import type { LockBackend as NotOfTheRoot } from 'holdfast';

/** Fails to compile unless the two types are the same. */
type Same<A, B> =
  (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : never;
function same<A, B>(isSame: Same<A, B>): void {
  void isSame;
}

// The result of request() is what the callback gives, awaited.
const number = locks.request('a', () => 1);
same<typeof number, Promise<number>>(true);
const text = locks.request('a', async () => 'text');
same<typeof text, Promise<string>>(true);
const nothing = locks.request('a', () => {});
same<typeof nothing, Promise<void>>(true);
const thenable = locks.request('a', () => ({
  then(resolve: (value: boolean) => void) {
    resolve(true);
  },
}));
same<typeof thenable, Promise<boolean>>(true);

// The callback gets a lock, or null only where ifAvailable may refuse.
locks.request('a', (lock) => same<typeof lock, Lock>(true));
locks.request('a', { mode: 'shared' }, (lock) => same<typeof lock, Lock>(true));
locks.request('a', { ifAvailable: false }, (lock) => same<typeof lock, Lock>(true));
locks.request('a', { ifAvailable: true }, (lock) => same<typeof lock, Lock | null>(true));
declare const options: LockOptions;
locks.request('a', options, (lock) => same<typeof lock, Lock | null>(true));
// @ts-expect-error a refused request has no lock
locks.request('a', { ifAvailable: true }, (lock) => lock.name);

// Arguments.
locks.request('a', { mode: 'exclusive', signal: new AbortController().signal }, () => {});
locks.request('a', { mode: undefined, signal: undefined, steal: undefined }, () => {});
// @ts-expect-error no callback
locks.request('a');
// @ts-expect-error no callback after the options
locks.request('a', { mode: 'shared' });
// @ts-expect-error the name is a string
locks.request(1, () => {});
// @ts-expect-error no such mode
locks.request('a', { mode: 'upgradeable' }, () => {});
// @ts-expect-error null is no mode
locks.request('a', { mode: null }, () => {});
// @ts-expect-error null is no signal
locks.request('a', { signal: null }, () => {});
// @ts-expect-error no such option
locks.request('a', { exclusive: true }, () => {});

// Lock.
declare const lock: Lock;
same<typeof lock.name, string>(true);
same<typeof lock.mode, LockMode>(true);
same<typeof lock.token, bigint>(true);
// @ts-expect-error read-only
lock.name = 'other';
// @ts-expect-error illegal constructor
new Lock();
// @ts-expect-error illegal constructor
new LockManager();
const areInstances: boolean = lock instanceof Lock && locks instanceof LockManager;
void areInstances;

// query().
const snapshot = locks.query();
same<typeof snapshot, Promise<LockManagerSnapshot>>(true);
declare const info: LockInfo;
same<keyof typeof info, 'clientId' | 'mode' | 'name'>(true);
same<LockManagerSnapshot['held'], LockInfo[]>(true);

// Beyond the standard: options.
locks.request('a', { timeout: 5, holdLimit: 0.5, label: 'l', mode: 'shared', limit: 3 }, () => {});
locks.request('a', { timeout: undefined, holdLimit: undefined, label: undefined }, () => {});
// @ts-expect-error a duration is a number
locks.request('a', { timeout: '5 s' }, () => {});
// @ts-expect-error so is a limit
locks.request('a', { mode: 'shared', limit: null }, () => {});
same<typeof lock.signal, TaskSignal>(true);

// acquire().
const handle = locks.acquire('a', { timeout: 5 });
same<typeof handle, Promise<LockHandle>>(true);
const perhaps = locks.acquire('a', { ifAvailable: true });
same<typeof perhaps, Promise<LockHandle | null>>(true);
async function useHandles() {
  await using one = await locks.acquire('a');
  using other = await locks.acquire('b');
  const asLock: Lock = one;
  other.release();
  return asLock.token;
}
useHandles();
// @ts-expect-error a name
locks.acquire();

// requestAll().
const all = locks.requestAll(['a', 'b'], async ([a, b]) => [a.token, b.token]);
same<typeof all, Promise<bigint[]>>(true);
locks.requestAll(new Set(['a']), { ifAvailable: true }, (some) =>
  same<typeof some, Lock[] | null>(true),
);
// @ts-expect-error names, not a name
locks.requestAll(7, () => {});

// requestSync().
const sync = locks.requestSync('a', { timeout: 5 }, (granted) => granted.token);
same<typeof sync, bigint>(true);
locks.requestSync('a', { ifAvailable: true }, (some) => same<typeof some, Lock | null>(true));
// @ts-expect-error nothing can abort while the thread is blocked
locks.requestSync('a', { signal: new AbortController().signal }, () => {});
const members = (error: DeadlockError) => error.cycle.map(({ name, pid }) => `${name} ${pid}`);
void members;

// inspect(), isLocked().
const inspection = locks.inspect();
same<typeof inspection, Promise<LockManagerInspection>>(true);
declare const detail: LockDetail;
same<typeof detail.token, bigint | null>(true);
const isLocked: boolean = locks.isLocked('a');
void isLocked;

// The other exports.
const manager: LockManager = openLockManager({
  bucket: 'jobs',
  capacity: 2 ** 26,
  directory: '/tmp',
});
manager.close();
openLockManager();
createLocalLockManager().request('a', () => {});
core.locks.request('a', () => {});
// @ts-expect-error a bucket has a name
openLockManager({ bucket: 1 });
// @ts-expect-error a backend has methods
openLockManager({ backend: {} });
declare const backend: LockBackend;
openLockManager({ backend });

function isRetryable(error: unknown): boolean {
  if (!(error instanceof LockLostError)) return false;
  same<typeof error.reason, LockLossReason>(true);
  same<typeof error.token, bigint>(true);
  const exception: DOMException = error;
  return exception.name === 'TimeoutError';
}
isRetryable(new Error());

async function watches(signal: AbortSignal) {
  for await (const event of locks.watch('ledger', { signal })) {
    same<typeof event, LockEvent>(true);
    same<typeof event.token, bigint | null>(true);
    switch (event.type) {
      case 'queued':
      case 'granted':
      case 'released':
      case 'aborted':
      case 'timedout':
      case 'stolen':
      case 'expired':
      case 'died':
        continue;
      default:
        same<typeof event.type, never>(true);
    }
  }
  await using all = locks.watch();
  const { value, done } = await all.next();
  if (!done) same<typeof value.lost, number>(true);
  // @ts-expect-error a name is text
  locks.watch(7);
}
watches(AbortSignal.timeout(1_000));
openLockManager({ callSites: true });

// A backend of one's own.
class NeverGranting implements LockBackend {
  clientId = 'none';
  enqueue(request: LockBackendRequest) {
    return request.ifAvailable ? (2 as const) : (0 as const);
  }
  release() {
    return undefined;
  }
  cancel() {}
  snapshot() {
    return { held: [], pending: [] };
  }
  inspect() {
    return { held: [], pending: [] };
  }
  isLocked() {
    return false;
  }
  watch() {
    return { read: async () => [], close() {} };
  }
  close() {}
}
openLockManager({ backend: new NeverGranting() });

// Code that takes the browser's lock manager takes this one.
interface BrowserLockManager {
  query(): Promise<{ held?: LockInfo[]; pending?: LockInfo[] }>;
  request<T>(
    name: string,
    callback: (lock: { name: string; mode: LockMode }) => T,
  ): Promise<Awaited<T>>;
}
const likeInTheBrowser: BrowserLockManager = locks;
likeInTheBrowser.query();
