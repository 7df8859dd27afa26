'use strict';

const { spawn } = require('node:child_process');
const { once } = require('node:events');
const { text } = require('node:stream/consumers');
const path = require('node:path');
const { EtcdCluster, sleep } = require('../support/etcd-cluster.js');
const { TestNetwork, canMakeNetworks } = require('../support/test-network.js');

const DEMO = path.join(__dirname, '..', '..', 'demo', 'main.js');
const INCREMENTS = 2_000;
/** No lease ends in an election. The lock of a killed process is free at the end of its lease. */
const TTL_MS = 20_000;
/** Of each of them the cluster has made one change or two. */
const SOME = BigInt(INCREMENTS / 4);

let network;
let cluster;
afterEach(async () => {
  await cluster?.stop();
  network?.stop();
});

(canMakeNetworks ? test : test.skip)(
  'HOLDFAST_URL makes the demonstration one of a cluster: two machines, a SIGKILL, a dead leader',
  async () => {
    network = new TestNetwork();
    const [control, ...machines] = Array.from({ length: 6 }, () => network.addMachine());
    const hosts = machines.slice(0, 3).map((it) => ({ ...it, clientPort: 2379, peerPort: 2380 }));
    cluster = await EtcdCluster.start({ hosts, launch: control.launch });
    const clients = machines.slice(3);
    const [program, ...words] = [...clients[0].launch, process.execPath, DEMO];
    const demo = spawn(program, [...words, '--json', '--increments', String(INCREMENTS)], {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: {
        ...process.env,
        HOLDFAST_URL: cluster.url('demo', `?ttl=${TTL_MS / 1000}`),
        HOLDFAST_DEMO_MACHINES: clients.map(({ name }) => name).join(' '),
      },
    });
    const output = text(demo.stdout);
    const ended = once(demo, 'exit');
    const begin = await cluster.revision();
    while ((await cluster.revision()) < begin + SOME) await sleep(50);
    const leader = await cluster.leader();
    await leader.kill();
    expect(await ended).toEqual([0, null]);
    const result = JSON.parse(await output);
    console.log(result);
    expect(result).toMatchObject({ ok: true, expected: INCREMENTS, found: INCREMENTS });
    expect(result).toMatchObject({ violations: 0, auditViolations: 0, unreportedLost: false });
    leader.start(cluster.members, 'existing');
    await cluster.untilHealthy();
    // The last one to exit may not have had the second that it waits for the cluster.
    await cluster.endSessions();
    while ((await cluster.keys()).length > 0) await sleep(200);
  },
);
