'use strict';

const { spawn } = require('node:child_process');
const { once } = require('node:events');
const path = require('node:path');
const { Worker } = require('node:worker_threads');
const { openLockManager } = require('../../lib/index.js');
const { describeInside } = require('./namespaces.js');

/**
 * @param {() => Promise<any>} startServer  see remote-servers.js
 * @param {string} server  its name in messages
 */
function describeHolders(startServer, server) {
  const PROGRAM = path.join(__dirname, 'etcd-holder-program.js');
  const IPC = ['ignore', 'inherit', 'inherit', 'ipc'];
  /** A namespace in which the machine's name can be changed. */
  const UTS = ['unshare', '--uts'];

  let cluster;
  let locks;
  let other;
  beforeAll(async () => {
    cluster = await startServer();
    const url = cluster.url('holders');
    [locks, other] = [openLockManager({ url }), openLockManager({ url })];
  });
  afterAll(async () => {
    locks.close();
    other.close();
    await cluster.stop();
  });

  const MESSAGE = new RegExp(
    "^The lock 'busy' was not granted within 20 ms; it is held by " +
      `process ${process.pid}, thread 0, label 'first', for \\d+ ms; ` +
      `process ${process.pid}, thread 0, for \\d+ ms$`,
  );

  /** In another thread, which holds it until it is terminated. */
  const HOLD = `
  const { openLockManager } = require(${JSON.stringify(require.resolve('../../lib/index.js'))});
  const { parentPort, workerData: url } = require('node:worker_threads');
  openLockManager({ url }).request('kept', { label: 'kept' }, () => {
    parentPort.on('message', () => {}); // a lock keeps no thread alive
    parentPort.postMessage('held');
    return new Promise(() => {});
  });`;

  test('the message of a timeout names the holders', async () => {
    const first = await other.acquire('busy', { mode: 'shared', label: 'first' });
    const second = await locks.acquire('busy', { mode: 'shared' });
    const refused = locks.request('busy', { timeout: 20 }, () => {});
    await expect(refused).rejects.toMatchObject({
      name: 'TimeoutError',
      message: expect.stringMatching(MESSAGE),
    });
    first.release();
    second.release();
  });

  test('so does the message of requestSync(), about another thread', async () => {
    const holder = new Worker(HOLD, { eval: true, workerData: cluster.url('holders') });
    const { threadId } = holder;
    await once(holder, 'message');
    expect(() => locks.requestSync('kept', { timeout: 20 }, () => {})).toThrow(
      `it is held by process ${process.pid}, thread ${threadId}, label 'kept', for `,
    );
    await holder.terminate();
  });

  describeInside(UTS, 'a process of another machine', () => {
    let holder;
    afterEach(() => holder?.kill('SIGKILL'));

    test('is named with the name of that machine, and not searched for here', async () => {
      const url = cluster.url('holders');
      const program = ['sh', '-c', 'hostname web-2 && exec "$0" "$@"', process.execPath, PROGRAM];
      holder = spawn(UTS[0], [...UTS.slice(1), ...program, url, 'of web-2'], { stdio: IPC });
      await once(holder, 'message');
      const about = expect.objectContaining({ host: 'web-2', pid: holder.pid });
      const { held: all, place } = await locks.inspect();
      const held = all.filter(({ name }) => name === 'of web-2'); // a lease may outlive its thread
      expect(place).toBe(`${cluster.place(url)}/default`);
      expect(held).toEqual([about]);
      expect(held[0]).toMatchObject({ processState: 'unknown', command: '' });
      const refused = locks.request('of web-2', { timeout: 20 }, () => {});
      await expect(refused).rejects.toThrow(
        `it is held by process ${holder.pid} on web-2, thread 0`,
      );
      await locks.query(); // its place is free
      const events = locks.watch('of web-2');
      const first = events.next();
      await locks.query();
      holder.kill('SIGKILL');
      expect((await first).value).toEqual(expect.objectContaining({ type: 'died', host: 'web-2' }));
    });
  });

  test('without an answer of the cluster the message says so, and names no holders', async () => {
    const held = await other.acquire('out of reach');
    await cluster.suspend();
    const refused = locks.request('out of reach', { timeout: 20 }, () => {});
    await expect(refused).rejects.toMatchObject({
      message: `The lock 'out of reach' was not granted within 20 ms: ${server} has not answered`,
    });
    cluster.resume();
    held.release();
  });
}

module.exports = { describeHolders };
