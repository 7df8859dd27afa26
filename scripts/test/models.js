'use strict';

// npm test -- models [model…]: checks the Spin models in test/models. Each has to hold as it is,
// and has to fail with each known mistake.

const { spawnSync } = require('node:child_process');
const { mkdirSync } = require('node:fs');
const path = require('node:path');
const { ONE_FAILED, ONE_PASSED, conclude } = require('../steps/suites.js');
const { ROOT, StepError, mustRun } = require('../steps/run.js');
const { ensureToolchain } = require('../steps/toolchain.js');

/** @type {{ model: string, defines: string[], holds: boolean }[]} */
const CHECKS = [
  { model: 'lock-word', defines: [], holds: true },
  { model: 'lock-word', defines: ['NO_WAITERS_BIT'], holds: true },
  { model: 'lock-word', defines: ['UNBOUNDED_SLEEP'], holds: false },
  { model: 'lock-word', defines: ['BREAK_LIVING'], holds: false },
  { model: 'doorbell', defines: [], holds: true },
  { model: 'doorbell', defines: ['RING_BEFORE_STORE'], holds: false },
  { model: 'doorbell', defines: ['CHECK_BEFORE_SLEEP'], holds: false },
  { model: 'doorbell', defines: ['TAKE_MARK_FIRST'], holds: false },
  { model: 'doorbell', defines: ['SLEEPS_ALIKE'], holds: false },
  { model: 'doorbell', defines: ['DRAIN_LATE'], holds: false },
  { model: 'watch-arm', defines: [], holds: true },
  { model: 'watch-arm', defines: ['READ_BEFORE_ARM'], holds: false },
  { model: 'watch-arm', defines: ['TAKE_BEFORE_WRITE'], holds: false },
  { model: 'watch-arm', defines: ['LAST_ONE_ARMED'], holds: false },
  { model: 'watch-arm', defines: ['NO_FINDER'], holds: false },
  { model: 'watch-arm', defines: ['NO_LAST_CHECK'], holds: false },
  { model: 'false-owner', defines: [], holds: true },
  { model: 'false-owner', defines: ['NO_ANSWER'], holds: false },
  { model: 'false-owner', defines: ['NO_SECOND_CHECK'], holds: false },
  { model: 'false-owner', defines: ['NO_COUNT'], holds: false },
  { model: 'false-owner', defines: ['MARK_AFTER_WORD'], holds: false },
  { model: 'false-owner', defines: ['UNMARK_BEFORE_WORD'], holds: false },
  { model: 'broker-election', defines: [], holds: true },
  { model: 'broker-election', defines: ['CLAIM_BEFORE_LISTEN'], holds: false },
  { model: 'broker-election', defines: ['PIPES'], holds: true },
  { model: 'broker-election', defines: ['PIPES', 'NO_SECOND_CHECK'], holds: false },
  { model: 'broker-election', defines: ['NO_SOCKET_CHECK'], holds: false },
  { model: 'broker-election', defines: ['REMOVE_AT_EXIT'], holds: false },
  { model: 'broker-recovery', defines: [], holds: true },
  { model: 'broker-recovery', defines: ['SEND_BEFORE_JOURNAL'], holds: false },
  { model: 'broker-recovery', defines: ['FORGET_SLOW'], holds: false },
  { model: 'broker-recovery', defines: ['NO_JOURNAL'], holds: false },
  { model: 'broker-recovery', defines: ['COPY_OVER'], holds: false },
  { model: 'broker-recovery', defines: ['NO_REPEAT'], holds: false },
  { model: 'broker-order', defines: [], holds: true },
  { model: 'broker-order', defines: ['AT_ONCE'], holds: false },
  { model: 'broker-order', defines: ['SAME_READING'], holds: false },
  { model: 'broker-order', defines: ['LATE_SINCE'], holds: false },
  { model: 'broker-order', defines: ['BY_ARRIVAL'], holds: false },
  { model: 'broker-corruption', defines: [], holds: true },
  { model: 'broker-corruption', defines: ['USE_READABLE'], holds: false },
  { model: 'broker-corruption', defines: ['SERVE_LATE'], holds: false },
  { model: 'broker-corruption', defines: ['CONNECT_FIRST'], holds: false },
  { model: 'broker-corruption', defines: ['LIST_FIRST'], holds: false },
  { model: 'broker-corruption', defines: ['HELPER_COUNTS'], holds: false },
  { model: 'publication-list', defines: [], holds: true },
  { model: 'publication-list', defines: ['TWICE'], holds: true },
  { model: 'publication-list', defines: ['TWICE', 'REUSE_EXECUTED'], holds: false },
  { model: 'publication-list', defines: ['NO_RECHECK'], holds: false },
  { model: 'publication-list', defines: ['NO_WORKER'], holds: false },
  { model: 'publication-list', defines: ['OWN_FIRST'], holds: false },
  { model: 'publication-list', defines: ['STACK_ORDER'], holds: false },
  { model: 'publication-list', defines: ['BY_CELL'], holds: false },
  { model: 'publication-list', defines: ['NO_LIMIT'], holds: false },
  { model: 'publication-list', defines: ['NO_DOUBLE_CHECK'], holds: false },
  { model: 'cell-lives', defines: [], holds: true },
  { model: 'cell-lives', defines: ['BY_CELL'], holds: false },
  { model: 'cell-lives', defines: ['NO_AGENT_CHECK'], holds: false },
  { model: 'cell-lives', defines: ['AGENT_LAST'], holds: false },
  { model: 'cell-lives', defines: ['NO_WAIT'], holds: false },
  { model: 'cell-lives', defines: ['CHECK_ONCE'], holds: false },
  { model: 'combiner', defines: [], holds: true },
  { model: 'combiner', defines: ['NO_FOLLOW'], holds: false },
  { model: 'combiner', defines: ['ONLY_AFTER_PUSH'], holds: false },
  { model: 'combiner', defines: ['SLOT_AFTER_MARK'], holds: false },
  { model: 'combiner', defines: ['MARK_FIRST'], holds: false },
  { model: 'combiner', defines: ['NO_WATCH'], holds: false },
  { model: 'combiner', defines: ['NO_RESCAN'], holds: false },
  { model: 'biased', defines: ['ROUNDS=3'], holds: true },
  { model: 'biased', defines: ['ROUNDS=2', 'READ'], holds: true },
  { model: 'biased', defines: ['ROUNDS=2', 'WATCH'], holds: true },
  { model: 'biased', defines: ['FREE_AT_ONCE'], holds: false },
  { model: 'biased', defines: ['BLIND_ACQUIRE'], holds: false },
  { model: 'biased', defines: ['BLIND_RELEASE'], holds: false },
  { model: 'biased', defines: ['READ', 'TOKEN_AFTER_ACQUIRE'], holds: false },
  { model: 'biased', defines: ['READ', 'READ_BIASED'], holds: false },
  { model: 'biased', defines: ['NO_PUSH_REVOKE'], holds: false },
  { model: 'biased', defines: ['REVOKE_BEFORE_PUSH'], holds: false },
  { model: 'biased', defines: ['NO_LAST_CHECK'], holds: false },
  { model: 'biased', defines: ['CHECK_BEFORE_BIAS'], holds: false },
  { model: 'biased', defines: ['WATCH', 'WATCH_REVOKE_FIRST'], holds: false },
  { model: 'biased', defines: ['WATCH', 'CHECK_BEFORE_BIAS'], holds: false },
  { model: 'biased', defines: ['BIAS_WITH_QUEUE'], holds: false },
  { model: 'biased', defines: ['NO_SETTLE'], holds: false },
  {
    model: 'biased',
    defines: ['OTHERS=2', 'ROUNDS=2', 'ENTRIES=0', 'REPAIR_BIASED'],
    holds: false,
  },
  { model: 'biased-snapshot', defines: [], holds: true },
  { model: 'biased-snapshot', defines: ['NO_REVOKE'], holds: false },
  { model: 'biased-snapshot', defines: ['REVOKE_HELD'], holds: false },
];

/** Its search ends before an optimizing compiler does. */
const UNOPTIMIZED = 'biased';

/** @param {{ model: string, defines: string[] }} check */
function isWithoutErrors({ model, defines }) {
  const folder = path.join(ROOT, 'build', 'models', [model, ...defines].join('-'));
  mkdirSync(folder, { recursive: true });
  const source = path.join(ROOT, 'test', 'models', `${model}.pml`);
  mustRun('spin', ['-a', ...defines.map((define) => `-D${define}`), source], { cwd: folder });
  const level = model === UNOPTIMIZED ? '-O0' : '-O2';
  mustRun('cc', [level, '-w', '-DSAFETY', '-DCOLLAPSE', '-o', 'pan', 'pan.c'], { cwd: folder });
  const { stdout } = spawnSync('./pan', ['-m100000'], { cwd: folder, encoding: 'utf8' });
  const errors = /errors: (\d+)/.exec(stdout)?.[1];
  const isComplete = !/max search depth too small|Search not completed/.test(stdout);
  if (errors === undefined) throw new StepError(`the check of ${model} ended early:\n${stdout}`);
  if (errors === '0' && !isComplete) throw new StepError(`${model} was not searched to the end`);
  return errors === '0';
}

/** @param {string[]} args */
function main(args) {
  const checks = CHECKS.filter(({ model }) => args.length === 0 || args.includes(model));

  if (checks.length === 0) throw new TypeError(`no model has the name ${args.join(' or ')}`);
  conclude(
    checks.map((check) => ({
      title: `${[check.model, ...check.defines].join(' with ')} ${check.holds ? 'holds' : 'fails'}`,
      run: () => {
        ensureToolchain('models');
        return isWithoutErrors(check) === check.holds ? ONE_PASSED : ONE_FAILED;
      },
    })),
  );
}

module.exports = { main };
