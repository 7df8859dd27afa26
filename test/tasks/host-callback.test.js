'use strict';

const { loadBinding } = require('../../lib/binding.js');
const { HostCallback, LEVEL, ...cells } = require('../../lib/scheduler/loop-hook.js');

test('levels and cells are the ones of the native part', () => {
  const binding = loadBinding();
  for (const [name, level] of Object.entries(LEVEL)) {
    expect({ [name]: binding[`LEVEL_${name}`] }).toEqual({ [name]: level });
  }
  expect(Object.keys(cells)).toHaveLength(5);
  for (const [name, value] of Object.entries(cells)) {
    expect({ [name]: binding[name] }).toEqual({ [name]: value });
  }
});

test('this Node has what runs ticks and microtasks without a return to native code', async () => {
  const host = new HostCallback(() => false);
  const ids = [];
  const inImmediate = () => {
    process.nextTick(() => ids.push('tick'));
    queueMicrotask(() => ids.push('microtask'));
    return [host.drain(), ...ids];
  };
  const result = await new Promise((resolve) => setImmediate(() => resolve(inImmediate())));
  expect(result).toEqual([true, 'tick', 'microtask']);
});
