'use strict';

const { existsSync, readdirSync, readFileSync } = require('node:fs');
const path = require('node:path');
const { directoryOf } = require('../table-options.js');
const { noted, ok, warning } = require('./finding.js');

/** @typedef {import('./finding.js').Finding} Finding */

/** Above it are the users for whom logind removes files when they log out. */
const MAX_SYSTEM_UID = 999;
const LOW_FILE_LIMIT = 1024;

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
 * systemd-logind removes what a user has in /dev/shm when the last session of that user ends.
 * @param {string} directory
 * @returns {Finding[]}
 */
function checkRemoveIpc(directory) {
  const uid = process.geteuid?.() ?? 0;
  if (!existsSync('/run/systemd/system') || !directory.startsWith('/dev/shm')) return [];
  if (uid <= MAX_SYSTEM_UID || existsSync(`/var/lib/systemd/linger/${uid}`)) return [];
  const value = logindSettings().match(/^\s*RemoveIPC\s*=\s*(\S+)/m)?.[1] ?? 'yes';
  if (/^(no|false|0|off)$/i.test(value)) return [ok("systemd's RemoveIPC is off")];
  return [
    warning(
      `systemd removes ${directory} when the last session of user ${uid} ends (RemoveIPC)`,
      'RemoveIPC=no in /etc/systemd/logind.conf, "loginctl enable-linger", or a system user',
    ),
  ];
}

/** @returns {Finding[]} */
function checkContainer() {
  const markers = ['/.dockerenv', '/run/.containerenv'];
  const isContainer =
    markers.some((file) => existsSync(file)) ||
    /docker|kubepods|containerd|lxc/.test(read('/proc/self/cgroup'));
  if (!isContainer) return [];
  return [
    noted(
      'this is a container: it shares locks with others only where they share the directory',
      'mount one volume in both (--ipc=host or --ipc=container:NAME for /dev/shm)',
    ),
  ];
}

/** @returns {Finding[]} */
function checkLimits() {
  const limit = Number(
    read('/proc/self/limits').match(/^Max open files\s+(\d+)/m)?.[1] ?? Infinity,
  );
  if (limit > LOW_FILE_LIMIT) return [];
  return [
    noted(
      `this shell allows ${limit} open files for a process`,
      'a thread needs about one for each process that it waits for: ulimit -n raises it',
    ),
  ];
}

/**
 * @param {import('../table-options.js').Place} options
 * @returns {Finding[]}
 */
function checkEnvironment(options) {
  return [...checkRemoveIpc(directoryOf(options)), ...checkContainer(), ...checkLimits()];
}

module.exports = { checkEnvironment };
