'use strict';

const { copyFileSync, appendFileSync } = require('node:fs');
const path = require('node:path');

/**
 * The words before a program that show it further users and groups, in a separate mount namespace.
 * @param {string} folder  for the files, as they are there
 * @param {{ passwd?: string[], group?: string[] }} entries  lines of the files
 * @returns {string[]}
 */
function withEntries(folder, entries) {
  const mounts = ['passwd', 'group'].map((database) => {
    const file = path.join(folder, database);
    copyFileSync(`/etc/${database}`, file);
    appendFileSync(file, (entries[database] ?? []).map((line) => `${line}\n`).join(''));
    return `mount --bind "${file}" /etc/${database}`;
  });
  return ['unshare', '--mount', 'sh', '-c', `${mounts.join(' && ')} && exec "$0" "$@"`];
}

module.exports = { withEntries };
