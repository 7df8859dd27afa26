'use strict';

// As it is delivered, where the broker is one file.
const { openLockManager } = require('../../dist/index.js');
const { makeDirectory } = require('../harness/bucket.js');
const { figuresOfIdle } = require('../harness/idle.js');
const { startProgram } = require('../harness/programs.js');
const { brokerPid } = require('../peers/holdfast-broker.js');
const { serveRedis, whyNoRedis } = require('../peers/redis-server.js');

/** @type {import('../harness/scenarios.js').Scenario} */
module.exports = {
  goal: 14,
  title: 'The broker: what it takes while a client is connected and wants nothing',
  note: 'Wake-ups are the voluntary context switches of all its threads in ten seconds.',
  rounds: 1,
  contenders: {
    'holdfast, broker': {
      async measure() {
        const directory = makeDirectory();
        const locks = openLockManager({ url: `broker://${directory}` });
        await locks.request('ledger', () => {});
        return figuresOfIdle(brokerPid(directory));
      },
    },
    'plain Node with a socket': {
      async measure() {
        const { child } = await startProgram('echo', [`${makeDirectory()}/echo.sock`]);
        process.prependListener('exit', () => child.kill('SIGKILL'));
        return figuresOfIdle(child.pid);
      },
    },
    'Redis server': {
      whyNot: whyNoRedis,
      measure: async () => figuresOfIdle((await serveRedis(makeDirectory())).pid),
    },
  },
  goals: [
    { of: 'holdfast, broker', figure: 'resident MiB', atMost: 45 },
    { of: 'holdfast, broker', figure: 'wake-ups', atMost: 0 },
  ],
};
