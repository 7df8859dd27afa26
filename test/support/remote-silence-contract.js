'use strict';

const { openLockManager } = require('../../lib/index.js');
const { ClusterGate } = require('./tcp-gate.js');

const TTL_S = 2;
/** More than a session needs until its first lock is released. */
const ANSWERS = 16;
const CROWD = 1000;
const LABEL_BYTES = 1500;

/**
 * @param {() => Promise<any>} startServer  see remote-servers.js
 * @param {(server: any) => Promise<void>} [forgetPast]  no earlier moment can be read any more
 */
function describeSilence(startServer, forgetPast = async () => {}) {
  let server;
  const gates = [];
  const opened = [];
  beforeAll(async () => {
    server = await startServer();
  });
  afterAll(async () => {
    for (const locks of opened) locks.close();
    await Promise.all(gates.map((gate) => gate.close()));
    await server.stop();
  });

  /** @param {number} answers  that the first connection of the manager passes on */
  async function requestBehind(answers) {
    const gate = await ClusterGate.open(server);
    gates.push(gate);
    gate.shutFirstAfter(answers);
    const locks = openLockManager({ url: gate.url(`silent-${answers}`, `?ttl=${TTL_S}`) });
    opened.push(locks);
    const request = () => locks.request(`silent-${answers}`, () => 'granted');
    try {
      return await request();
    } catch (error) {
      expect(error).toMatchObject({ name: 'LockLostError', reason: 'disconnected' });
      return request();
    }
  }

  test('a connection that falls silent, at any of its answers, is replaced', async () => {
    const requests = Array.from({ length: ANSWERS }, (_, answers) => requestBehind(answers));
    expect(await Promise.all(requests)).toEqual(Array(ANSWERS).fill('granted'));
  });

  test('an inspection on a network that needs longer for it than a session is valid', async () => {
    const gate = await ClusterGate.open(server);
    gates.push(gate);
    const crowd = openLockManager({ url: server.urlOf(server.endpoints, 'slow') });
    const locks = openLockManager({ url: gate.url('slow', `?ttl=${TTL_S}`) });
    opened.push(crowd, locks);
    const first = await crowd.acquire('crowd');
    const ended = new AbortController();
    const options = { label: 'x'.repeat(LABEL_BYTES), signal: ended.signal };
    const requests = Array.from({ length: CROWD }, () =>
      crowd.request('crowd', options, () => {}).catch((error) => error.name),
    );
    while ((await crowd.query()).pending.length < CROWD);
    const held = await locks.acquire('mine');
    gate.slowDown((CROWD * LABEL_BYTES) / (2 * TTL_S));

    const lost = new Promise((resolve) => held.signal.addEventListener('abort', resolve));
    const inspection = Promise.race([locks.query(), lost]);
    for (let times = 0; times < 5; times += 1) {
      await crowd.request('other', () => {});
      await forgetPast(server);
    }
    expect((await inspection).pending).toHaveLength(CROWD);
    await held.release();
    ended.abort();
    expect(new Set(await Promise.all(requests))).toEqual(new Set(['AbortError']));
    await first.release();
  });
}

module.exports = { describeSilence };
