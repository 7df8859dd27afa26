'use strict';

const { PassThrough } = require('node:stream');
const { outputWidth } = require('../../lib/cli/output.js');
const { Screen } = require('../../lib/cli/top.js');

test('a screen that was left is not drawn on: it is the shell that is there now', () => {
  const output = Object.assign(new PassThrough(), { columns: 80, rows: 24 });
  const screen = new Screen({ onKey: () => {}, onResize: () => {} }, new PassThrough(), output);
  const before = process.listeners('SIGCONT').concat(process.listeners('exit'));
  screen.open();
  screen.draw(['first']);
  screen.close();
  output.read();
  screen.draw(['second']);
  expect(output.read()).toBe(null);
  for (const event of ['SIGCONT', 'exit']) {
    const added = process.listeners(event).filter((one) => !before.includes(one));
    for (const listener of added) process.off(event, listener);
  }
});

test('a terminal without a size, as in a container, gets whole lines and a usual screen', () => {
  const own = Object.getOwnPropertyDescriptors(process.stdout);
  Object.defineProperties(process.stdout, {
    isTTY: { value: true, configurable: true },
    columns: { value: 0, configurable: true },
  });
  const width = outputWidth();
  for (const name of ['isTTY', 'columns']) {
    delete process.stdout[name];
    if (own[name] !== undefined) Object.defineProperty(process.stdout, name, own[name]);
  }
  expect(width).toBe(Infinity);
  const output = Object.assign(new PassThrough(), { columns: 0, rows: 0 });
  const screen = new Screen({ onKey: () => {}, onResize: () => {} }, new PassThrough(), output);
  expect(screen.size).toEqual({ columns: 80, rows: 24 });
});
