'use strict';

const { readFileSync } = require('node:fs');
const { join } = require('node:path');
const { loadBinding } = require('../../../lib/binding.js');
const { HostCallback, LEVEL } = require('../../../lib/scheduler/host-callback.js');

test('levels and cells are the ones of the native part', () => {
  const binding = loadBinding();
  for (const [name, level] of Object.entries(LEVEL)) {
    expect({ [name]: binding[`LEVEL_${name}`] }).toEqual({ [name]: level });
  }
  const file = join(__dirname, '../../../lib/scheduler/host-callback.js');
  const cells = [...readFileSync(file, 'utf8').matchAll(/^const (CELL_\w+) = (\d+);$/gm)];
  expect(cells).toHaveLength(5);
  for (const [, name, value] of cells) {
    expect({ [name]: binding[name] }).toEqual({ [name]: Number(value) });
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
