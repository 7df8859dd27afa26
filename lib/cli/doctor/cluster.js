'use strict';

const { printable } = require('../printable.js');
const { fault, noted, ok, warning } = require('./finding.js');

/** @typedef {import('./finding.js').Finding} Finding */
/** @typedef {import('../../../types/etcd.d.ts').EtcdExamination} Examination */
/** @typedef {import('../../../types/etcd.d.ts').EtcdMemberExamination} Member */

const MEBIBYTE = 2 ** 20;
/** From this share of the quota on there is little room left. */
const NEARLY_FULL = 0.8;
/** The clock of a member is known to about a second. */
const CLOCK_DIFFERENCE_MS = 3_000;
/** A lock takes two changes, one after the other. */
const SLOW_CHANGE_MS = 100;

/** Advice by the message of the connection. */
const CONNECTION_ADVICE = /** @type {[RegExp, string][]} */ ([
  [/ECONNREFUSED/, 'nothing listens there: does the member run, and is this its client port?'],
  [/ENOTFOUND|EAI_AGAIN|Name resolution/, 'the name is not known to the DNS of this machine'],
  [/EHOSTUNREACH|ENETUNREACH/, 'there is no way to that network from here'],
  [
    /self-signed|unable to (get|verify)|unknown ca|issuer/i,
    "this machine does not trust the member's certificate: name its authority, ?ca=FILE",
  ],
  [/altnames|Hostname\/IP/i, "the member's certificate is for another host name"],
  [/certificate has expired|not yet valid/i, 'renew the certificate, or set the clock'],
  [
    /bad certificate|certificate required|handshake failure/i,
    'the member wants a certificate of the client: ?cert=FILE&key=FILE',
  ],
  [
    /wrong version number|ECONNRESET|socket hang up|Protocol error|Failed to connect/i,
    'TLS on one side only? etcds: is with TLS, etcd: without',
  ],
  [/no leader/, 'more than half of all members have to run and reach each other'],
  [/DEADLINE|deadline|no answer/i, 'a firewall, or a member that is stopped: it does not answer'],
]);

/** @param {string} problem */
function connectionAdvice(problem) {
  const known = CONNECTION_ADVICE.find(([pattern]) => pattern.test(problem));
  return known?.[1] ?? 'the message is that of the connection';
}

/** @param {number} bytes */
const mebibytes = (bytes) => `${Math.round(bytes / MEBIBYTE)} MiB`;

/** @param {Member} member @returns {Finding[]} */
function checkRoom({ endpoint, databaseBytes, quotaBytes }) {
  if (databaseBytes === undefined) return [];
  if (quotaBytes === undefined) {
    return [noted(`${endpoint}: ${mebibytes(databaseBytes)} of data; its quota is not known`)];
  }
  const text = `${endpoint}: ${mebibytes(databaseBytes)} of ${mebibytes(quotaBytes)} are used`;
  if (databaseBytes < quotaBytes * NEARLY_FULL) return [ok(text)];
  const advice = 'compact and defragment it, and let it compact by itself (docs/etcd.md)';
  return [warning(text, advice)];
}

/** @param {Member} member @returns {Finding[]} */
function checkClock({ endpoint, clockAheadMs }) {
  if (clockAheadMs === undefined) return [];
  const seconds = Math.round(Math.abs(clockAheadMs) / 1_000);
  if (Math.abs(clockAheadMs) < CLOCK_DIFFERENCE_MS) {
    return [ok(`${endpoint}: its clock and this one agree, to ${Math.max(1, seconds)} s`)];
  }
  const where = clockAheadMs > 0 ? 'ahead of' : 'behind';
  return [
    warning(
      `${endpoint}: its clock is ${seconds} s ${where} this machine's`,
      'locks do not need it, but the times of holders and waiters are wrong by it: use NTP',
    ),
  ];
}

/** @param {Member} member */
function describeMember({ version, isLeader }) {
  if (version === undefined) return 'an etcd that does not tell this user what it is';
  if (isLeader === undefined) return `etcd ${printable(version)}`;
  return `etcd ${printable(version)}, ${isLeader ? 'the leader' : 'a follower'}`;
}

/** @param {Member} member @returns {Finding[]} */
function checkMember(member) {
  const { endpoint, isReachable, problem = '', roundTripMs = 0 } = member;
  if (!isReachable) {
    return [fault(`${endpoint} is not reached: ${printable(problem)}`, connectionAdvice(problem))];
  }
  const who = `${endpoint} is ${describeMember(member)}`;
  const first = member.isSupported
    ? ok(`${who}, ${roundTripMs.toFixed(1)} ms away`)
    : fault(`${who}: too old`, 'holdfast needs 3.4 or later');
  const findings = [first];
  if (member.hasLeader === false) {
    const advice = 'more than half of all members have to run and reach each other';
    findings.push(fault(`${endpoint} knows no leader: nothing is granted`, advice));
  }
  if (member.isLearner) {
    const advice = 'promote it (etcdctl member promote), or take it out of the URL';
    findings.push(fault(`${endpoint} only learns yet, and serves nobody`, advice));
  }
  return [...findings, ...checkRoom(member), ...checkClock(member)];
}

/** @param {Member[]} members @returns {Finding[]} */
function checkTogether(members) {
  const reached = members.filter(({ clusterId }) => clusterId !== undefined);
  const clusters = new Set(reached.map(({ clusterId }) => clusterId));
  if (clusters.size > 1) {
    const list = reached.map(({ endpoint, clusterId }) => `${endpoint} of ${clusterId}`).join(', ');
    const advice = 'each would have locks of its own: name the members of one cluster';
    return [fault(`the endpoints belong to ${clusters.size} clusters: ${list}`, advice)];
  }
  const ids = members.flatMap(({ memberId }) => memberId ?? []);
  const count = new Set(ids).size;
  if (count < ids.length) {
    const advice = 'harmless, but then fewer members may fail than it seems';
    return [warning(`${ids.length} endpoints are ${count} members`, advice)];
  }
  if (members.length === 1) {
    return [noted('one endpoint: if that member is down, there are no locks')];
  }
  return [];
}

/** @param {string} why @param {string} prefix */
function rightsAdvice(why, prefix) {
  if (/authentication failed|invalid user ID or password/.test(why)) {
    return 'the user or the password is wrong (passwordFile=FILE, or HOLDFAST_URL)';
  }
  if (/user name is empty/.test(why)) {
    return 'the cluster wants a user: etcd://user@host/prefix?passwordFile=FILE';
  }
  if (/authentication is not enabled/.test(why)) {
    return 'the cluster knows no users: leave user and password out of the URL';
  }
  if (/permission denied/.test(why)) {
    const grant = `etcdctl role grant-permission ROLE readwrite ${prefix}/ --prefix=true`;
    return `the user needs both rights: ${grant}`;
  }
  if (/no leader/.test(why)) {
    return 'more than half of all members have to run and reach each other';
  }
  if (/space exceeded/.test(why)) {
    return 'etcdctl compact, then defrag, then alarm disarm (docs/etcd.md)';
  }
  return 'the message is that of the cluster';
}

/**
 * @param {Examination} examination
 * @returns {Finding[]}
 */
function checkRights({ prefix, refused, changeMs, members }) {
  if (!members.some(({ isReachable }) => isReachable)) return [];
  const entries = /** @type {[string, string][]} */ ([
    ['read', refused.read],
    ['written', refused.write],
  ]).filter(([, why]) => why !== undefined);
  const reasons = new Set(entries.map(([, why]) => why));
  if (reasons.size === 1 && entries.length === 2) entries[0][0] = 'read or written';
  const faults = [...reasons].map((why) => {
    const [done] = /** @type {[string, string]} */ (entries.find(([, one]) => one === why));
    const what = `keys below '${printable(prefix)}' cannot be ${done}: ${printable(why)}`;
    return fault(what, rightsAdvice(why, prefix));
  });
  if (faults.length > 0) return faults;
  const ms = Number(changeMs);
  const text = `keys below '${printable(prefix)}' can be read and written, in ${ms.toFixed(1)} ms`;
  if (ms < SLOW_CHANGE_MS) return [ok(text)];
  return [
    warning(text, 'a lock takes twice that: look at the disks and the network of the members'),
  ];
}

/** @param {Examination} examination @returns {Finding[]} */
function checkAlarms({ alarms, members }) {
  const advice = /** @type {Record<string, string>} */ ({
    NOSPACE: 'compact and defragment it, then "etcdctl alarm disarm" (docs/etcd.md)',
    CORRUPT: 'the data of members differ: replace the member that etcd names in its log',
  });
  if (!members.some(({ isReachable }) => isReachable)) return [];
  return alarms.map((name) =>
    fault(`the cluster has raised the alarm ${name}`, advice[name] ?? 'etcdctl alarm list'),
  );
}

/**
 * Whether the members of a cluster can keep locks for this user.
 * @param {string} url
 * @param {string} [bucket]
 * @returns {Promise<Finding[]>}
 * @throws TypeError (rejects) where the URL is not understood
 */
async function checkCluster(url, bucket) {
  // Loaded here, because only this command, for such a URL, needs it.
  const { examineEtcd } = require('holdfast/etcd');
  /** @type {Examination} */
  let examination;
  try {
    examination = await examineEtcd(url, { bucket });
  } catch (error) {
    const { message, code } = /** @type {any} */ (error);
    if (error instanceof TypeError && code === undefined) throw error;
    return [fault(printable(message), 'the message says what to do')]; // no gRPC, no such file
  }
  const { members } = examination;
  return [
    ...members.flatMap(checkMember),
    ...checkTogether(members),
    ...checkAlarms(examination),
    ...checkRights(examination),
  ];
}

module.exports = { checkCluster };
