'use strict';

const { spawn } = require('node:child_process');
const path = require('node:path');
const { PostgresServer } = require('../support/postgres-server.js');
const { TestNetwork, canMakeNetworks } = require('../support/test-network.js');

const PROGRAM = path.join(__dirname, '..', 'support', 'lock-times-program.js');

let network;
let server;
const children = [];
afterEach(async () => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  await server?.remove();
  network?.stop();
  [network, server] = [];
});

/** A program on a machine, and when what it reports has happened. */
function start({ launch }, url) {
  const [command, ...words] = [...launch, process.execPath, PROGRAM, url, 'a'];
  const child = spawn(command, words, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  children.push(child);
  const times = {};
  const waiting = {};
  child.on('message', ({ what, at }) => {
    times[what] = BigInt(at);
    waiting[what]?.();
  });
  const at = async (what) => {
    if (times[what] === undefined) await new Promise((resolve) => (waiting[what] = resolve));
    return times[what];
  };
  return { at };
}

describe.each([2, 5, 10])('with a TTL of %d s', (ttlS) => {
  (canMakeNetworks ? test : test.skip)(
    'a machine is cut off: its lock is lost there before another machine has it',
    async () => {
      network = new TestNetwork();
      const [host, first, second] = [1, 2, 3].map(() => network.addMachine());
      server = await PostgresServer.start({ machine: host });
      const url = server.url({ query: `?ttl=${ttlS}` });
      const holder = start(first, url);
      await holder.at('granted');
      const waiter = start(second, url);
      await waiter.at('entered');
      first.unplug();
      const granted = await waiter.at('granted');
      expect(await holder.at('lost')).toBeLessThan(granted);
    },
  );
});
