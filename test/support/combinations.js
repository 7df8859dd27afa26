'use strict';

/**
 * Which clients the conformance suite runs with. HOLDFAST_TEST_BACKENDS=local (or a list of
 * them) limits it to these backends; without it a backend that cannot be loaded is a failure.
 * `etcd` needs a cluster, whose URL is in HOLDFAST_TEST_ETCD: `npm test -- etcd` starts one;
 * `postgres` a server, whose URL is in HOLDFAST_TEST_POSTGRES.
 *
 * `first` and `second` say where a client lives: in the thread of the test, in a separate worker
 * thread or process, or (`same thread`) beside the first one as a separate lock manager.
 */
const COMBINATIONS = [
  { backend: 'local', first: 'main', second: 'same thread' },
  { backend: 'local', first: 'worker', second: 'same thread' },
  { backend: 'shared-memory', first: 'main', second: 'same thread' },
  { backend: 'shared-memory', first: 'main', second: 'worker' },
  { backend: 'shared-memory', first: 'main', second: 'process' },
  { backend: 'shared-memory', first: 'worker', second: 'same thread' },
  { backend: 'shared-memory', first: 'worker', second: 'worker' },
  { backend: 'shared-memory', first: 'worker', second: 'process' },
  { backend: 'shared-memory', first: 'process', second: 'process' },
  { backend: 'broker', first: 'main', second: 'same thread' },
  { backend: 'broker', first: 'worker', second: 'process' },
  { backend: 'etcd', first: 'main', second: 'same thread' },
  { backend: 'etcd', first: 'worker', second: 'same thread' },
  { backend: 'etcd', first: 'main', second: 'worker' },
  { backend: 'etcd', first: 'process', second: 'process' },
  { backend: 'postgres', first: 'main', second: 'same thread' },
  { backend: 'postgres', first: 'worker', second: 'same thread' },
  { backend: 'postgres', first: 'main', second: 'worker' },
  { backend: 'postgres', first: 'process', second: 'process' },
];

const BACKENDS = (process.env.HOLDFAST_TEST_BACKENDS ?? 'local,shared-memory,broker').split(',');

/** Those whose rules run in this process, so that a test can hold their clock. */
const IN_PROCESS_BACKENDS = BACKENDS.filter((backend) => backend !== 'broker');

const twoClients = COMBINATIONS.filter(({ backend }) => BACKENDS.includes(backend));

/** The places of a test with one client: each backend, in the main thread and in a worker. */
const oneClient = twoClients.filter(
  ({ first, second }) => second === 'same thread' && first !== 'process',
);

module.exports = { BACKENDS, IN_PROCESS_BACKENDS, oneClient, twoClients };
