'use strict';

// Development servers and Jest's resetModules() evaluate the package again and again in one thread,
// and keep a reference to each evaluation.

const { spawnSync } = require('node:child_process');
const { mkdtempSync } = require('node:fs');
const path = require('node:path');
const { BrokerFiles } = require('../../lib/backends/broker/broker-files.js');
const { MAX_ATTACHED } = require('../../lib/backends/idle-agents.js');
const { removeLocks } = require('../support/broker-process.js');

const LIBRARY = path.join(__dirname, '../../lib/index.js');
const EVALUATIONS = 3 * MAX_ATTACHED;

let directory;
beforeEach(() => (directory = mkdtempSync('/dev/shm/holdfast-evaluations-')));
afterEach(() => removeLocks(new BrokerFiles('default', directory)));

/** Runs the body of an async function with `evaluate` and gives what it returns. */
function run(body, url) {
  const program = `
    const { readdirSync } = require('node:fs');
    function evaluate() {
      for (const key of Object.keys(require.cache)) {
        if (key.endsWith('.js')) delete require.cache[key];
      }
      return require(${JSON.stringify(LIBRARY)}).locks;
    }
    const descriptors = () => readdirSync('/proc/self/fd').length;
    const EVALUATIONS = ${EVALUATIONS};
    (async () => { ${body} })().then((value) => console.log(JSON.stringify(value)));`;
  const { stdout, stderr, status } = spawnSync(process.execPath, ['--eval', program], {
    encoding: 'utf8',
    env: { ...process.env, HOLDFAST_DIR: directory, HOLDFAST_URL: url },
  });
  if (status !== 0) throw new Error(stderr);
  return JSON.parse(stdout);
}

describe.each(['shm:', 'broker:'])('over %s', (url) => {
  test('the descriptors of evaluations that do nothing do not add up', () => {
    const [some, all] = run(
      `const counts = [];
       for (let i = 1; i <= EVALUATIONS; i += 1) {
         await evaluate().request('a', () => {});
         counts[i] = descriptors();
       }
       return [counts[EVALUATIONS / 2], counts[EVALUATIONS]];`,
      url,
    );
    expect(all).toBeLessThan(some + MAX_ATTACHED);
  });

  test('an evaluation that was idle for long takes locks again', () => {
    const names = run(
      `const first = evaluate();
       await first.request('a', () => {});
       const others = [];
       for (let i = 1; i < EVALUATIONS; i += 1) {
         others.push(evaluate());
         await others.at(-1).request('a', () => {});
       }
       const order = [];
       await first.request('a', async () => {
         const waiting = others[0].request('a', () => order.push('second'));
         while ((await first.query()).pending.length === 0);
         order.push('first');
         void waiting;
       });
       await first.request('a', () => {});
       return order;`,
      url,
    );
    expect(names).toEqual(['first', 'second']);
  });

  test('a manager that holds, waits for or watches something stays as it is', () => {
    const result = run(
      `const [holder, waiter, watcher] = [evaluate(), evaluate(), evaluate()];
       const lock = await holder.acquire('a');
       const waiting = waiter.request('a', ({ name }) => name);
       const events = watcher.watch('b')[Symbol.asyncIterator]();
       const event = events.next();
       for (let i = 0; i < EVALUATIONS; i += 1) await evaluate().request('c', () => {});
       const isLost = lock.signal.aborted;
       await lock.release();
       await evaluate().request('b', () => {});
       return [isLost, await waiting, (await event).value.name];`,
      url,
    );
    expect(result).toEqual([false, 'a', 'b']);
  });
});
