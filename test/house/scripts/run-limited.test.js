'use strict';

const { spawn, spawnSync } = require('node:child_process');
const { join } = require('node:path');
const { once } = require('node:events');

const STEPS = join(__dirname, '..', '..', '..', 'scripts', 'steps');
const LAUNCHER = join(STEPS, 'run.js');
const { TIMED_OUT } = require(LAUNCHER);

const node = (program) => [process.execPath, '-e', program];

test('the status is the status of the program', () => {
  const { status, stdout } = spawnSync(
    process.execPath,
    [LAUNCHER, '60', ...node('console.log("done"); process.exitCode = 7')],
    { encoding: 'utf8' },
  );
  expect([status, stdout]).toEqual([7, 'done\n']);
});

test('a program that hangs is ended with what it has started', async () => {
  const program = `
    process.on('SIGTERM', () => process.exit(0));
    const { spawn } = require('node:child_process');
    spawn(process.execPath, ['-e', 'for (;;);'], { stdio: 'inherit' });`;
  const launcher = spawn(process.execPath, [LAUNCHER, '0.02', ...node(program)]);
  launcher.stdout.resume();
  launcher.stderr.resume();
  // Not before the last process that has its output open is gone.
  expect(await once(launcher, 'close')).toEqual([TIMED_OUT, null]);
});

test('a run of Jest that is ended prints which test files had not ended', () => {
  const program = `
    const Reporter = require(${JSON.stringify(join(STEPS, 'unfinished-reporter.js'))});
    const reporter = new Reporter();
    for (const path of ['a', 'b', 'c']) reporter.onTestFileStart({ path });
    reporter.onTestFileResult({ path: 'b' });
    process.kill(process.pid, 'SIGTERM');
    setTimeout(() => {}, 60_000);`;
  const { status, stderr } = spawnSync(process.execPath, ['-e', program], {
    encoding: 'utf8',
  });
  expect([status, stderr]).toEqual([1, 'Not ended: a, c\n']);
});
