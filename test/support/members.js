'use strict';

const { spawnSync } = require('node:child_process');
const { chmodSync, chownSync, mkdirSync } = require('node:fs');
const { join } = require('node:path');

// Users of this machine by numbers that no account has, in one group. Only root can be several
// users.

const GROUP = 64_200;
const OTHER_GROUP = 64_209;
/** Each with the umask that hurts most, the usual one, and one of a team. */
const MEMBERS = [
  { user: 64_201, groups: [GROUP], umask: '0077' },
  { user: 64_202, groups: [GROUP], umask: '0022' },
  { user: 64_203, groups: [GROUP], umask: '0007' },
];
const STRANGER = { user: 64_204, groups: [] };
const MEMBER_OF_ANOTHER_GROUP = { user: 64_205, groups: [OTHER_GROUP] };

/**
 * The words before a program that make it one of a user.
 * @param {{ user: number, groups: number[], umask?: string }} member
 * @returns {string[]}
 */
const as = ({ user, groups, umask = '0022' }) => [
  // A change of the user would drop the signal at the parent's death that unshare has set.
  ...['setpriv', '--pdeathsig=KILL', `--reuid=${user}`, `--regid=${user}`],
  groups.length > 0 ? `--groups=${groups.join(',')}` : '--clear-groups',
  ...['sh', '-c', `umask ${umask} && exec "$0" "$@"`],
];

/** Why there cannot be several users here; undefined: there can. */
function whyNot() {
  if (process.geteuid?.() !== 0) return 'only root can be several users';
  const [command, ...words] = as(STRANGER);
  const file = join(__dirname, '../../lib/index.js');
  const program = [process.execPath, '-e', `require(${JSON.stringify(file)})`];
  const { error, status, stderr } = spawnSync(command, [...words, ...program], {
    encoding: 'utf8',
  });
  if (status === 0) return undefined;
  return error?.message ?? `another user cannot run a program of this tree: ${stderr.trim()}`;
}

const reason = whyNot();

/**
 * `describe` for tests with several users; says aloud when it skips them.
 * @param {string} title
 * @param {() => void} define
 */
function describeMembers(title, define) {
  if (reason === undefined) return describe(title, define);
  console.warn(`Skipped: ${title}: ${reason}`);
  return describe.skip(`${title} (${reason})`, define);
}

/**
 * Makes a directory as an administrator does for the members of a group.
 * @param {string} directory
 */
function makeShared(directory) {
  mkdirSync(directory, { recursive: true });
  chownSync(directory, 0, GROUP);
  chmodSync(directory, 0o2770);
}

module.exports = {
  GROUP,
  MEMBER_OF_ANOTHER_GROUP,
  MEMBERS,
  OTHER_GROUP,
  STRANGER,
  as,
  describeMembers,
  isPossible: reason === undefined,
  makeShared,
};
