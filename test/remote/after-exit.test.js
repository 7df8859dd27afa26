'use strict';

const { spawnSync } = require('node:child_process');

const PATH = require.resolve('../../lib/backends/outside.js');

/** Wraps the functions that signal-exit wraps, and calls one further listener as it does. */
const WRAP = `
  const { emit, reallyExit } = process;
  let isOver = false;
  const listener = () => {
    if (!isOver) say('a listener of a wrapper');
    isOver = true;
  };
  process.emit = function (name, ...args) {
    const result = Reflect.apply(emit, this, [name, ...args]);
    if (name === 'exit') listener();
    return result;
  };
  process.reallyExit = (code) => {
    listener();
    Reflect.apply(reallyExit, process, [code]);
  };`;

/** The output of a program whose copies of the module all leave after 'exit'. */
function printed(ending, listener = '', { first = '', hostKind = 'process' } = {}) {
  const program = `
    const fs = require('node:fs');
    const say = (text) => fs.writeSync(1, text + '\\n');
    ${first}
    for (const i of [1, 2]) {
      delete require.cache[${JSON.stringify(PATH)}];
      globalThis['leaver' + i] = { leave: () => say('leaves ' + i) };
      require(${JSON.stringify(PATH)}).outside().leaveAfterExit(globalThis['leaver' + i]);
    }
    process.on('exit', () => { say('a listener'); ${listener} });
    ${ending}
  `;
  const inWorker = `
    const { Worker } = require('node:worker_threads');
    new Worker(${JSON.stringify(program)}, { eval: true }).on('error', () => {});`;
  const args = ['-e', hostKind === 'worker' ? inWorker : program];
  const { stdout } = spawnSync(process.execPath, args, { encoding: 'utf8' });
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

describe.each(['process', 'worker'])('in a %s', (hostKind) => {
  const ENDINGS = ['process.exit();', '', "throw new Error('expected');"];
  const expected = ['a listener', 'a listener of a wrapper', 'leaves 1', 'leaves 2'];

  test.each(ENDINGS)('all leave after a wrapper that came later, at: %s', (ending) => {
    expect(printed(`${WRAP} ${ending}`, '', { hostKind })).toEqual(expected);
  });

  test.each(ENDINGS)('all leave after a wrapper that came earlier, at: %s', (ending) => {
    expect(printed(ending, '', { first: WRAP, hostKind })).toEqual(expected);
  });
});

test('an evaluation that is dropped after it wrapped the ends of the process is collected', () => {
  const program = `
    const use = () => {
      const evaluation = require(${JSON.stringify(PATH)});
      evaluation.outside().leaveAfterExit({ leave: () => {} });
      for (const file of Object.keys(require.cache)) delete require.cache[file];
      module.children.length = 0;
      return new WeakRef(evaluation.outside);
    };
    const seen = use();
    const collect = (left) => {
      gc();
      if (seen.deref() === undefined || left === 0) console.log(seen.deref() === undefined);
      else setTimeout(collect, 10, left - 1);
    };
    setTimeout(collect, 10, 100);`;
  const { stdout } = spawnSync(process.execPath, ['--expose-gc', '-e', program], {
    encoding: 'utf8',
  });
  expect(stdout).toBe('true\n');
});
