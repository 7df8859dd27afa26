'use strict';

const { spawn } = require('node:child_process');
const { once } = require('node:events');
const { mkdtempSync, rmSync } = require('node:fs');
const { tmpdir } = require('node:os');
const path = require('node:path');
const { text } = require('node:stream/consumers');
const { TestNetwork, canMakeNetworks } = require('./test-network.js');

// The example of one session for many processes, on two machines that share nothing but the server
// of the locks and the session's server.

const MAIN = path.join(__dirname, '..', '..', 'examples', 'refresh-token', 'main.js');
const PORT = 8080;
/** On a busy machine a server may not be reached for some seconds. */
const WARNING = /^\(node:\d+\) \[HOLDFAST_UNREACHABLE\].*\n(\(Use .*\n)?/gm;

/** Of an access token: some round trips, even on a busy machine. */
const LIFETIME_MS = 300;
/** The number of calls that each machine has to make before the test ends. */
const CALLS = 50;
const REFRESHES = 3;

/** Runs inside the network, because nothing outside reaches it. */
const WAIT = `(async () => {
  const [url, calls, refreshes, ...machines] = process.argv.slice(1);
  for (;;) {
    const counts = await (await fetch(url + '/counts')).json();
    const isDone = (it) => it?.calls >= calls && it.refreshes >= refreshes;
    if (machines.every((it) => isDone(counts.machines[it])) || counts.revocations > 0) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
})()`;

/**
 * @param {(machine: import('./test-network.js').Machine) => Promise<any>} startServer  see
 *   remote-servers.js
 */
function describeRefreshToken(startServer) {
  let directory;
  let network;
  let cluster;
  let running;
  beforeEach(() => {
    directory = mkdtempSync(path.join(tmpdir(), 'holdfast-'));
    running = [];
  });
  afterEach(async () => {
    for (const { child } of running) child.kill('SIGKILL');
    await Promise.all(running.map(({ exited }) => exited));
    await cluster?.stop();
    network?.stop();
    rmSync(directory, { recursive: true, force: true });
  });

  /** @param {{ launch: string[] }} machine */
  function start({ launch }, words, env = {}) {
    const [program, ...rest] = [...launch, process.execPath, ...words];
    const child = spawn(program, rest, {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, ...env },
    });
    const [output, errors] = [text(child.stdout), text(child.stderr)];
    const started = { child, output, errors, exited: once(child, 'exit') };
    running.push(started);
    return started;
  }

  /** Ends a program of the example, and gives what it has counted. */
  async function conclude({ child, output, errors, exited }) {
    child.kill('SIGTERM');
    const [code] = await exited;
    return {
      code,
      errors: (await errors).replace(WARNING, ''),
      ...JSON.parse((await output) || '{}'),
    };
  }

  /** @param {...string} options of the processes */
  async function runOnTwoMachines(...options) {
    network = new TestNetwork();
    const [ofLocks, host, ...machines] = Array.from({ length: 4 }, () => network.addMachine());
    cluster = await startServer(ofLocks);
    const serverAddress = `${host.address}:${PORT}`;
    const server = start(host, [
      ...[MAIN, '--json', '--serve', serverAddress],
      ...['--lifetime', String(LIFETIME_MS)],
    ]);
    await once(server.child.stderr, 'data'); // it listens
    const crews = machines.map((machine) =>
      start(
        machine,
        [MAIN, '--json', '--join', `http://${serverAddress}`, '--processes', '2', ...options],
        {
          HOLDFAST_URL: cluster.url('session'),
          HOLDFAST_DIR: path.join(directory, machine.name), // machines share no memory
        },
      ),
    );
    const addresses = machines.map(({ address }) => address);
    const words = [`http://${serverAddress}`, CALLS, REFRESHES, ...addresses].map(String);
    const wait = start(host, ['-e', WAIT, ...words]);
    await Promise.race([wait.exited, ...crews.map(({ exited }) => exited)]);
    const ends = await Promise.all(crews.map(conclude));
    const counts = await conclude(server);
    console.log({ counts, ends });
    return { counts, ends, addresses };
  }

  /** The rules that hold whatever dies. */
  function checkSession({ counts, ends, addresses }) {
    expect(ends).toMatchObject([
      { code: 0, errors: '', logouts: 0, failures: 0 },
      { code: 0, errors: '', logouts: 0, failures: 0 },
    ]);
    expect(counts).toMatchObject({
      code: 0,
      revocations: 0,
      needlessRefreshes: 0,
      refusedCalls: 0,
    });
    expect(counts.lateWrites).toBe(0);
    for (const address of addresses) {
      expect(counts.machines[address].calls).toBeGreaterThanOrEqual(CALLS);
      expect(counts.machines[address].refreshes).toBeGreaterThanOrEqual(REFRESHES);
    }
  }

  const testOnMachines = canMakeNetworks ? test : test.skip;

  testOnMachines('the token endpoint of two machines sees no refresh token twice', async () => {
    const result = await runOnTwoMachines('--without-kills');
    checkSession(result);
    expect(result.counts.repetitions).toBe(0);
  });

  testOnMachines('processes of both machines are killed, and no user is logged out', async () => {
    const result = await runOnTwoMachines();
    checkSession(result);
    const [first, second] = result.ends.map(({ kills }) => kills);
    expect(Math.min(first, second)).toBeGreaterThan(0);
    // One comes twice only where its first user died before it had saved the answer.
    expect(result.counts.repetitions).toBeLessThanOrEqual(first + second);
  });
}

module.exports = { describeRefreshToken };
