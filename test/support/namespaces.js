'use strict';

const { spawnSync } = require('node:child_process');

/** Some 32 years: further than any machine is up. */
const CLOCK_SHIFT_S = 1_000_000_000;

/** As `unshare` knows them; `--fork` puts the program itself into the new namespace. */
const FORKED = ['--fork', '--kill-child'];
const clocksShiftedBy = (seconds) => [
  ...['--time', '--monotonic', `${seconds}`, '--boottime', `${seconds}`],
  ...FORKED,
];
const IN_USER = ['--user', '--map-root-user'];
const IN_PID = ['--pid', '--mount-proc', ...FORKED];

/** A clock cannot stand before 0: back by half of what it shows. */
const halfOfUptime = () => Math.floor(Number(process.hrtime.bigint() / 1_000_000_000n) / 2);

/** The words before a program that put it into separate namespaces. */
const NAMESPACES = {
  PID: ['unshare', ...IN_PID],
  'network and IPC': ['unshare', '--net', '--ipc', '--uts'],
  'mount, without /proc': ['unshare', '--mount', 'sh', '-c', 'umount -l /proc && exec "$0" "$@"'],
  'time, forward': ['unshare', ...clocksShiftedBy(CLOCK_SHIFT_S)],
  'time, back': ['unshare', ...clocksShiftedBy(-halfOfUptime())],
  user: ['unshare', ...IN_USER],
  'all of them': [
    ...['unshare', ...IN_USER, ...clocksShiftedBy(CLOCK_SHIFT_S), '--pid', '--mount-proc'],
    ...['--mount', '--net', '--ipc', '--uts', '--cgroup'],
  ],
};

/**
 * Why a program cannot be started by these words here; undefined when it can.
 * @param {string[]} inside
 * @returns {string | undefined}
 */
function whyNot(inside) {
  const [program, ...words] = inside;
  const { status, error, stderr } = spawnSync(program, [...words, 'true'], { encoding: 'utf8' });
  if (status === 0) return undefined;
  return error?.message ?? stderr.trim();
}

/**
 * `describe` for tests that need to start programs by these words; says aloud when it skips them.
 * @param {string[]} inside
 * @param {string} title
 * @param {() => void} define
 */
function describeInside(inside, title, define) {
  const reason = whyNot(inside);
  if (reason === undefined) return describe(title, define);
  console.warn(`Skipped: ${title}: ${inside.slice(0, 2).join(' ')} does not work here: ${reason}`);
  return describe.skip(`${title} (${reason})`, define);
}

module.exports = { CLOCK_SHIFT_S, FORKED, NAMESPACES, describeInside };
