'use strict';

const { existsSync, readdirSync, readFileSync } = require('node:fs');
const path = require('node:path');

/** @param {string} file */
function read(file) {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return ''; // not there, or not for this user: nothing is known
  }
}

/** The settings of logind, the later ones before the earlier ones. */
function logindSettings() {
  const folder = '/etc/systemd/logind.conf.d';
  const files = existsSync(folder) ? readdirSync(folder).sort().reverse() : [];
  return [...files.map((name) => path.join(folder, name)), '/etc/systemd/logind.conf']
    .map(read)
    .join('\n');
}

/**
 * Whether systemd-logind may remove files from a directory: those that an ordinary user has in
 * /dev/shm, at any depth, when the user's last session ends.
 * @param {string} directory
 * @returns {'no' | 'off' | 'yes'}  off: only because its configuration forbids it
 */
function removesAtLogout(directory) {
  if (!existsSync('/run/systemd/system') || !directory.startsWith('/dev/shm')) return 'no';
  const value = logindSettings().match(/^\s*RemoveIPC\s*=\s*(\S+)/m)?.[1] ?? 'yes';
  return /^(no|false|0|off)$/i.test(value) ? 'off' : 'yes';
}

module.exports = { read, removesAtLogout };
