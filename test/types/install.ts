// Checked by `npm run types`, never run.

import 'holdfast/install';
import { locks } from 'holdfast';
import type { LockManager as HoldfastLockManager } from 'holdfast';

// `navigator.locks` is the whole lock manager, also where the types of Node or the DOM know one.
const manager: HoldfastLockManager = navigator.locks;
void manager.request('a', { mode: 'shared' }, async (lock) => lock.token);

// The interfaces are globals.
void (locks instanceof LockManager);
void manager.request('a', (lock) => lock instanceof Lock);
// @ts-expect-error read-only
navigator.locks = manager;
