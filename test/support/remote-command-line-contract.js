'use strict';

const { CommandLine } = require('./cli.js');
const { openLockManager } = require('../../lib/index.js');

/** @param {() => Promise<any>} startServer  see remote-servers.js */
function describeCommandLine(startServer) {
  // The commands over a cluster: they print and do the same as elsewhere (test/cli).

  let cluster;
  let cli;
  let locks;
  let url;
  beforeAll(async () => {
    cluster = await startServer();
    cli = new CommandLine();
    url = cluster.url('cli');
    locks = openLockManager({ url });
  });
  afterAll(async () => {
    locks.close();
    cli.close();
    await cluster.stop();
  });

  const run = (...args) => cli.run(args, { env: { HOLDFAST_URL: url } });
  const start = (...args) => cli.start(args, { env: { HOLDFAST_URL: url } });
  const waiting = async (name) => {
    while (!(await locks.query()).pending.some((request) => request.name === name));
  };

  test('ls, graph and top show who holds and who waits', async () => {
    const lock = await locks.acquire('shown', { label: 'nightly' });
    const waiter = start('exec', 'shown', 'true');
    await waiting('shown');
    const { status, stdout } = run('ls');
    expect(status).toBe(0);
    expect(stdout).toMatch(new RegExp(`^shown +held +exclusive .* ${process.pid} .*nightly`, 'm'));
    expect(stdout).toMatch(new RegExp(`^shown +waiting +exclusive .* ${waiter.pid} `, 'm'));
    expect(run('graph').stdout).toMatch(/shown/);
    expect(run('top', '--once', '--delay', '0.2').stdout).toMatch(/^shown +1 +1 /m);
    lock.release();
    expect(await waiter.ended).toEqual({ status: 0, signal: null });
  });

  test('exec runs a command under the lock, with its status', async () => {
    const command = start('exec', 'run', '--', 'sh', '-c', 'echo in; cat; exit 7');
    await command.line(/^in$/);
    expect(locks.isLocked('run')).toBe(true);
    expect(run('exec', '-n', 'run', 'true').status).toBe(1);
    expect(await command.closeInput()).toEqual({ status: 7, signal: null });
    expect(locks.isLocked('run')).toBe(false);
  });

  test('watch reports events; steal takes a lock away; wait waits for it', async () => {
    const watch = start('watch', 'taken');
    let mark;
    const marks = setInterval(() => {
      mark = locks.request('taken', { ifAvailable: true }, () => {});
    }, 50);
    expect(await watch.line(/granted {3}taken/)).toBeDefined(); // it sees what happens
    clearInterval(marks);
    await mark; // otherwise it may be stolen
    const held = locks.request('taken', () => new Promise(() => {}));
    const lost = expect(held).rejects.toMatchObject({ name: 'AbortError', reason: 'stolen' });
    while (!locks.isLocked('taken'));
    const { status, stdout } = run('steal', 'taken', '--yes');
    expect({ status, stdout }).toMatchObject({ status: 0 });
    await lost;
    expect(await watch.line(/stolen +taken/)).toBeDefined();
    expect(run('wait', 'taken').status).toBe(0);
    watch.kill('SIGINT');
    await watch.ended;
  });
}

module.exports = { describeCommandLine };
