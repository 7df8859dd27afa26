'use strict';

const { AsyncLocalStorage, createHook } = require('node:async_hooks');
const fs = require('node:fs');
const { DIFFERENCES } = require('./differences.js');

// On the runtime of the tests: each stated reason is true. If a proof fails, the runtime has
// learned something, and the list of its gaps can be shorter.

const { bun, deno } = process.versions;
const runtime = bun ? 'bun' : deno ? 'deno' : 'plain';

/** Spins, so that a timer and I/O that were started before are due. */
function spin(ms) {
  for (const start = performance.now(); performance.now() - start < ms;);
}

/** The callbacks that hand no scheduling state on. */
const CALLBACKS = {
  timer: (callback) => setTimeout(callback),
  immediate: (callback) => setImmediate(callback),
  'I/O': (callback) => fs.stat('.', callback),
  tick: (callback) => process.nextTick(callback),
};

/** @type {Record<keyof import('./differences.js').REASONS, () => Promise<void>>} */
const PROOFS = {
  async loop() {
    const order = [];
    await new Promise((resolve) => setImmediate(resolve)); // the next turn begins with timers
    const timer = new Promise((resolve) => setTimeout(() => resolve(order.push('timer'))));
    const immediate = new Promise((resolve) =>
      setImmediate(() => resolve(order.push('immediate'))),
    );
    spin(5);
    await Promise.all([timer, immediate]);
    expect(order).toEqual(['timer', 'immediate']);
  },

  async contexts() {
    const storage = new AsyncLocalStorage();
    const unseen = [];
    for (const [kind, start] of Object.entries(CALLBACKS)) {
      let calls = 0;
      const hook = createHook({ before: () => (calls += 1) }).enable();
      const store = await new Promise((resolve) =>
        storage.run('handed on', () => start(() => resolve(storage.getStore()))),
      );
      hook.disable();
      if (store === 'handed on' && calls === 0) unseen.push(kind);
    }
    expect(unseen).not.toEqual([]);
  },

  async trust() {
    const keys = [];
    const options = new Proxy({}, { get: (_target, key) => void keys.push(key) });
    expect(new Event('', options).isTrusted).toBe(false);
    expect(keys.filter((key) => typeof key === 'symbol')).toEqual([]);
  },
};

const reasons = new Set(
  DIFFERENCES.filter(({ on }) => on.includes(runtime)).map(({ reason }) => reason),
);

test.each([...reasons])(`the reason '%s' holds on ${runtime}`, async (reason) => {
  await PROOFS[reason]();
});

test('every reason has a proof', () => {
  for (const { reason } of DIFFERENCES) expect(PROOFS).toHaveProperty(reason);
});
