'use strict';

const PATH = '../../../../lib/backends/shared-memory/exit-hook.js';

function loadAnew() {
  let copy;
  jest.isolateModules(() => {
    copy = require(PATH);
  });
  return copy;
}

test('all copies of the module share one exit listener', () => {
  const before = process.listenerCount('exit');
  for (let i = 0; i < 20; i += 1) loadAnew().leaveAtExit({ leave() {} });
  expect(process.listenerCount('exit')).toBeLessThanOrEqual(before + 1);
});
