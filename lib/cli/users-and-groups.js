'use strict';

const { spawnSync } = require('node:child_process');
const { readFileSync } = require('node:fs');

/** The user database of this machine, with the entries of a directory service. */

/** @typedef {{ id: number, name?: string, members: string[] }} Group  name: if it has an entry */
/** @typedef {{ id: number, name: string, group: number, groups: number[] }} User */

/** A colon ends a name, and a name that begins with '-' would be an option. */
const KEY = /^[^-:\p{Cc}][^:\p{Cc}]*$/u;
const NUMBER = /^\d{1,10}$/;

/** @param {'passwd' | 'group'} database */
function linesOf(database) {
  try {
    return readFileSync(`/etc/${database}`, 'utf8').split('\n');
  } catch {
    return [];
  }
}

/**
 * The fields of an entry, by name or number. Without getent, as on macOS, from the file in /etc.
 * @param {'passwd' | 'group'} database
 * @param {string} key
 * @returns {string[] | undefined}
 */
function entryOf(database, key) {
  if (!KEY.test(key)) return undefined;
  const { status, stdout, error } = spawnSync('getent', [database, key], { encoding: 'utf8' });
  if (error === undefined) return status === 0 ? stdout.split('\n', 1)[0].split(':') : undefined;
  const entries = linesOf(database).map((line) => line.split(':'));
  return (
    entries.find(([name]) => name === key) ??
    (NUMBER.test(key) ? entries.find((fields) => Number(fields[2]) === Number(key)) : undefined)
  );
}

/**
 * @param {string} key  a name or a number
 * @returns {Group | undefined} undefined: no group has that name
 */
function groupOf(key) {
  const [name, , id, members = ''] = entryOf('group', key) ?? [];
  if (name !== undefined) {
    return { id: Number(id), name, members: members.split(',').filter((member) => member !== '') };
  }
  return NUMBER.test(key) ? { id: Number(key), members: [] } : undefined;
}

/** @param {number} id */
const groupWithId = (id) => /** @type {Group} */ (groupOf(String(id)));

/**
 * @param {string} key  a name or a number
 * @returns {User | undefined} undefined: the database has no such user
 */
function userOf(key) {
  const [name, , id, group] = entryOf('passwd', key) ?? [];
  if (name === undefined) return undefined;
  const { status, stdout } = spawnSync('id', ['-G', name], { encoding: 'utf8' });
  const groups = status === 0 ? stdout.trim().split(/\s+/).map(Number) : [Number(group)];
  return { id: Number(id), name, group: Number(group), groups };
}

/** @param {Group} group */
const groupText = ({ id, name }) => (name === undefined ? `${id}` : `${name} (${id})`);

/** @param {number} id  of a user */
const userName = (id) => entryOf('passwd', String(id))?.[0] ?? String(id);

/**
 * The members of a group by name: the ones in its entry, and each user of /etc/passwd with it as
 * the first group.
 * @param {Group} group
 */
function membersOf({ id, members }) {
  const firsts = linesOf('passwd')
    .map((line) => line.split(':'))
    .filter((fields) => fields.length > 3 && Number(fields[3]) === id)
    .map(([name]) => name);
  return [...new Set([...members, ...firsts])];
}

module.exports = { groupOf, groupText, groupWithId, membersOf, userName, userOf };
