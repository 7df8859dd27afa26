'use strict';

const { readFileSync, readlinkSync, statSync } = require('node:fs');
const path = require('node:path');
const { isSharedMemory, segmentOf, printableUrl, urlOf } = require('../table-options.js');
const { printable } = require('../printable.js');
const { fault, noted, ok, warning } = require('./finding.js');

/** @typedef {import('./finding.js').Finding} Finding */
/** @typedef {import('../table-options.js').Place} Place */

/**
 * The view of another process, read from /proc; undefined for files that this user may not read.
 * @param {number} pid
 */
const processView = (pid) => {
  const attempt = (/** @type {() => string} */ read) => {
    try {
      return read();
    } catch {
      return undefined; // it has ended, or belongs to another user
    }
  };
  const text = (/** @type {string} */ file) =>
    attempt(() => readFileSync(`/proc/${pid}/${file}`, 'utf8'));
  return {
    text,
    namespace: (/** @type {string} */ kind) =>
      attempt(() => readlinkSync(`/proc/${pid}/ns/${kind}`)),
    environment: () => {
      const pairs = text('environ')
        ?.split('\0')
        .map((pair) => /** @type {[string, string]} */ (pair.split(/=(.*)/s, 2)));
      return pairs && Object.fromEntries(pairs);
    },
  };
};

/** @typedef {ReturnType<typeof processView>} View */

/**
 * The identity of a file, as a process with another root sees it.
 * @param {number | 'self'} pid
 * @param {string} file
 */
function identityOf(pid, file) {
  try {
    const { dev, ino } = statSync(path.join(`/proc/${pid}/root`, file));
    return `${dev}:${ino}`;
  } catch {
    return undefined; // there is none there
  }
}

/**
 * The segment of another process, by its environment alone.
 * @param {number} uid
 * @param {Record<string, string>} environment
 * @param {Place} options
 */
function segmentOfOther(uid, environment, { bucket }) {
  const directory = environment.HOLDFAST_DIR || `/dev/shm/holdfast-${uid}`;
  return path.join(directory, bucket ?? 'default', 'segment');
}

/**
 * @param {View} view
 * @param {number} pid
 * @returns {{ uid: number, findings: Finding[] }}
 */
function checkUser(view, pid) {
  const uid = Number(view.text('status')?.match(/^Uid:\s+\d+\s+(\d+)/m)?.[1]);
  const own = process.geteuid?.();
  if (uid === own) return { uid, findings: [ok(`process ${pid} is of the same user (${uid})`)] };
  const title = `process ${pid} is of user ${uid}, this is user ${own}`;
  return { uid, findings: [fault(title, 'locks are shared among processes of one user')] };
}

/**
 * @param {View} view
 * @param {number} pid
 * @returns {Finding[]}
 */
function compareNamespaces(view, pid) {
  const own = processView(process.pid);
  const different = ['mnt', 'pid', 'ipc', 'user'].filter(
    (kind) => view.namespace(kind) !== own.namespace(kind),
  );
  if (different.length === 0) return [ok(`process ${pid} is in the same namespaces (container)`)];
  const names = different.join(', ');
  return [
    noted(
      `process ${pid} is in another container (namespaces: ${names})`,
      'that is no fault: what counts is whether it sees the same file',
    ),
  ];
}

/**
 * @param {View} view
 * @param {string} segment  as that process names it
 * @param {string} identity  of our file
 */
function hasMapped(view, segment, identity) {
  const inode = identity.split(':')[1];
  const maps = view.text('maps');
  return maps?.split('\n').some((line) => line.endsWith(segment) && line.includes(` ${inode} `));
}

/**
 * @param {View} view
 * @param {number} pid
 * @param {string} mine  our file
 * @param {string} theirs  as that process names it
 * @returns {Finding[]}
 */
function compareFiles(view, pid, mine, theirs) {
  const own = identityOf('self', mine);
  const other = identityOf(pid, theirs);
  if (own === undefined || other === undefined) {
    const [file, who] = own === undefined ? [mine, 'here'] : [theirs, `for process ${pid}`];
    return [warning(`there is no ${file} ${who}`, 'nobody has used that bucket there yet')];
  }
  if (own !== other) {
    const isSameMount = view.namespace('mnt') === processView(process.pid).namespace('mnt');
    const advice = isSameMount
      ? 'give both the same HOLDFAST_DIR, or the same option directory'
      : 'mount one directory in both containers (docker: --ipc=host, or -v) and set HOLDFAST_DIR';
    const files = `${theirs} is not the same file as ${mine}`;
    return [fault(`process ${pid} has another lock table: ${files}`, advice)];
  }
  const isUsing = hasMapped(view, theirs, own);
  const use = isUsing ? 'and uses it now' : 'but has not opened it (yet), by its memory map';
  return [ok(`process ${pid} sees the same lock table, ${use}`)];
}

/**
 * Whether another process shares our locks.
 * @param {number} pid
 * @param {Place} options
 * @returns {Finding[]}
 */
function compareWithProcess(pid, options) {
  const view = processView(pid);
  if (view.text('status') === undefined) {
    return [fault(`there is no process ${pid} here`, 'give its id as seen from this container')];
  }
  const command = (view.text('cmdline') ?? '').replaceAll('\0', ' ').trim();
  const { uid, findings } = checkUser(view, pid);
  findings.unshift(noted(`compared with process ${pid}: ${printable(command)}`));
  const environment = view.environment();
  if (environment === undefined) {
    return [...findings, fault('its environment cannot be read', 'run this as the same user')];
  }
  const [own, other] = [urlOf(options), environment.HOLDFAST_URL || undefined];
  if (own !== other) {
    const what =
      other === undefined ? 'has no HOLDFAST_URL' : `has HOLDFAST_URL=${printableUrl(other)}`;
    findings.push(warning(`it ${what}, other than here`, 'use the same value in both'));
  }
  if (!isSharedMemory(options)) {
    return own === other ? [...findings, ok('it has the same HOLDFAST_URL')] : findings;
  }
  const theirs = segmentOfOther(uid, environment, options);
  return [
    ...findings,
    ...compareNamespaces(view, pid),
    ...compareFiles(view, pid, segmentOf(options), theirs),
  ];
}

module.exports = { compareWithProcess };
