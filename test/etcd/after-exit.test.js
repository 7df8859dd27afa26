'use strict';

const { spawnSync } = require('node:child_process');

const PATH = require.resolve('../../lib/backends/etcd/backend.js');

/** The output of a program whose copies of the module all leave after 'exit'. */
function printed(ending, listener = '') {
  const program = `
    const fs = require('node:fs');
    const say = (text) => fs.writeSync(1, text + '\\n');
    for (const i of [1, 2]) {
      delete require.cache[${JSON.stringify(PATH)}];
      require(${JSON.stringify(PATH)}).leaveAfterExit({ leave: () => say('leaves ' + i) });
    }
    process.on('exit', () => { say('a listener'); ${listener} });
    ${ending}
  `;
  const { stdout } = spawnSync(process.execPath, ['-e', program], { encoding: 'utf8' });
  return stdout.trim().split('\n');
}

test.each(['process.exit();', '', "throw new Error('expected');"])(
  'all copies leave once, after the last listener, where a program ends by: %s',
  (ending) => {
    expect(printed(ending)).toEqual(['a listener', 'leaves 1', 'leaves 2']);
  },
);

test('all leave although a listener throws', () => {
  const seen = printed('', "throw new Error('expected');");
  expect(seen.slice(0, 3)).toEqual(['a listener', 'leaves 1', 'leaves 2']);
});
