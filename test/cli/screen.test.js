'use strict';

const { PassThrough } = require('node:stream');
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
