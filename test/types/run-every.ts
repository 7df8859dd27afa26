// Checked by `npm run types`, never run: each line that is marked must be refused by the compiler.

import { locks, runEvery } from 'holdfast';
import type { Run, RunStore } from 'holdfast';

const store: RunStore = { read: () => undefined, write: async () => {} };
const job: Promise<void> = runEvery(
  'job',
  { every: 1_000, delivery: 'at-most-once', offset: -5, manager: locks, store },
  async ({ due, signal, token }: Run) => [due.getTime(), signal.aborted, token + 1n],
);
void job;
runEvery('job', { every: 1, store: '/var/lib/app/job.run', onError: console.error }, () => {});
// @ts-expect-error an interval is needed
runEvery('job', {}, () => {});
// @ts-expect-error no such delivery
runEvery('job', { every: 1, delivery: 'twice' }, () => {});
// @ts-expect-error the callback comes last
runEvery('job', () => {}, { every: 1 });
