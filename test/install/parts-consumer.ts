// The other entry points, for `npm test -- install types`: compiled, never run.
import { subscribe } from 'node:diagnostics_channel';
import { openLockManager, runEvery, type LockRequestMessage } from 'holdfast';
import type { LockBackend } from 'holdfast/backend';
import * as holdfastByDefault from 'holdfast';
import { examineEtcd, openEtcdBackend, type EtcdSessionStatus } from 'holdfast/etcd';
import { LockMetrics, collect, type LockFigures } from 'holdfast/metrics';

export async function measure(): Promise<string> {
  const metrics = new LockMetrics({ scope: 'process', names: true, bounds: [0.001, 1] });
  const { held, waitSeconds }: LockFigures = await metrics.collect();
  metrics.close();
  return `${held} ${waitSeconds.sum} ${(await collect()).bucket} ${await metrics.toPrometheus()}`;
}

export async function shareWithOtherMachines(bucket: string | undefined): Promise<boolean> {
  const backend = openEtcdBackend('etcd://127.0.0.1:2379/jobs?ttl=10', { bucket });
  const anyBackend: LockBackend = backend;
  const { lost }: EtcdSessionStatus = await backend.status();
  const locks = openLockManager({ backend: anyBackend });
  const name: string = await locks.request('a', (lock) => lock.name);
  const { isUsable } = await examineEtcd('etcd://127.0.0.1:2379');
  return isUsable && lost === 0 && name === 'a';
}

export function repeat(signal: AbortSignal): Promise<void> {
  subscribe('locks.request.end', (message) => {
    const { name, token } = message as LockRequestMessage;
    console.log(name, token);
  });
  return runEvery('report', { every: 60_000, signal, label: 'r' }, ({ due }) => due.getTime());
}

export const { locks } = holdfastByDefault;
