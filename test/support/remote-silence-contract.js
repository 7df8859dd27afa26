'use strict';

const { openLockManager } = require('../../lib/index.js');
const { ClusterGate } = require('./tcp-gate.js');

const TTL_S = 2;
/** More than a session needs until its first lock is released. */
const ANSWERS = 16;

/** @param {() => Promise<any>} startServer  see remote-servers.js */
function describeSilence(startServer) {
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
}

module.exports = { describeSilence };
