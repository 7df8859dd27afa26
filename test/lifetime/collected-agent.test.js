'use strict';

const { mkdtempSync } = require('node:fs');
const { tmpdir } = require('node:os');
const path = require('node:path');
const { BrokerFiles } = require('../../lib/backends/broker/broker-files.js');
const { removeLocks } = require('../support/broker-process.js');
const { testCollectedAgents } = require('../support/collected-agent-contract.js');
const { runWithCollector } = require('../support/collector-program.js');

const VARIABLES = ['HOLDFAST_DIR', 'HOLDFAST_URL'];
const before = VARIABLES.map((name) => process.env[name]);

/** Hooks of the tests over a backend. */
function useBackend(url) {
  let directory;
  beforeEach(() => {
    directory = mkdtempSync(path.join(tmpdir(), 'holdfast-collected-'));
    process.env.HOLDFAST_DIR = directory;
    process.env.HOLDFAST_URL = url;
  });
  afterEach(() => {
    removeLocks(new BrokerFiles('default', directory));
    for (const [i, name] of VARIABLES.entries()) {
      if (before[i] === undefined) delete process.env[name];
      else process.env[name] = before[i];
    }
  });
}

describe.each(['shm:', 'broker:'])('over %s', (url) => {
  useBackend(url);
  testCollectedAgents(10);
});

describe('over a broker that dies', () => {
  useBackend('broker:');

  test('locks and requests that nothing refers to pass to the next broker', () => {
    const result = runWithCollector(async ({ openLockManager, collect }) => {
      const { readdirSync, readFileSync } = require('node:fs');
      const directory = process.env.HOLDFAST_DIR;
      const isBroker = (pid) => {
        try {
          return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(
            `{"directory":"${directory}`,
          );
        } catch {
          return false;
        }
      };
      const other = openLockManager();
      let end;
      const losses = [];
      await new Promise((granted) => {
        const callback = ({ signal }) => {
          signal.addEventListener('abort', () => losses.push('loss'));
          granted();
          return new Promise((resolve) => (end = resolve));
        };
        void openLockManager().request('a', callback);
      });
      const second = openLockManager().request('a', ({ name }) => name);
      while ((await other.query()).pending.length === 0);
      for (let i = 0; i < 3; i += 1) {
        for (const pid of readdirSync('/proc').filter(isBroker)) process.kill(pid, 'SIGKILL');
        await collect();
        const { held, pending } = await other.query();
        if (held.length !== 1 || pending.length !== 1) return [held, pending];
        await collect();
      }
      end();
      return [await second, losses];
    });
    expect(result).toEqual(['a', []]);
  });
});
