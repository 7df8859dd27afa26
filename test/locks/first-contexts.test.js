'use strict';

// In separate processes: the first use of a feature that needs async contexts can be tested only
// once in each, and before Node 24 it is the use that begins to follow call chains.

const { spawnSync } = require('node:child_process');
const { join } = require('node:path');

const LIBRARY = join(__dirname, '../../lib/index.js');

/** Runs a program with `locks` and `sleep`; gives what it printed, a line each. */
function run(body) {
  const program = `
    const locks = require(${JSON.stringify(LIBRARY)}).createLocalLockManager();
    const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
    process.on('warning', ({ message }) => console.log(message));
    let inside = 0;
    const section = async () => {
      inside += 1;
      console.log(inside);
      await sleep(150);
      inside -= 1;
    };
    ${body}`;
  const { stdout, stderr } = spawnSync(process.execPath, ['-e', program], { encoding: 'utf8' });
  expect(stderr).toBe('');
  return stdout.trim().split('\n');
}

const JOB = `const job = (options) => locks.request('A', options, section);`;

describe.each(['{ reentrant: true }', "{ deadlock: 'reject' }"])(
  'the first use of %s',
  (options) => {
    test('puts only the callback inside its lock, not the code beside it', () => {
      const lines = run(`${JOB}
      (async () => {
        const first = job(${options});
        await null;
        await Promise.all([first, job(${options}), job(${options})]);
      })();`);
      expect(lines).toEqual(['1', '1', '1']);
    });

    test('in code that was called by others which continue', () => {
      const lines = run(`${JOB}
      const start = async () => { await null; await job(${options}); };
      Promise.all([job(${options}), start(), start()]);`);
      expect(lines).toEqual(['1', '1', '1']);
    });

    test('in a job that is not awaited, with the others a timer later', () => {
      const lines = run(`${JOB}
      (async () => {
        await null;
        job(${options});
        await sleep(5);
        await Promise.all([job(${options}), job(${options})]);
      })();`);
      expect(lines).toEqual(['1', '1', '1']);
    });
  },
);

test('a first reentrant request is covered by the lock whose callback has just begun', () => {
  const lines = run(`
    locks.request('A', () =>
      locks.request('A', { reentrant: true, timeout: 0 }, () => console.log('granted')));`);
  expect(lines).toEqual(['granted']);
});

test('a first request that is to be notified of a deadlock knows what encloses it', () => {
  const lines = run(`
    const print = ({ name }) => console.log(name);
    locks.request('A', () => locks.request('A', { deadlock: 'reject' }, () => {}).catch(print));`);
  expect(lines).toEqual(['DeadlockError']);
});
