'use strict';

const {
  existsSync,
  lstatSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
} = require('node:fs');
const path = require('node:path');
const { createRequire } = require('node:module');
const { openLockManager } = require('holdfast');
const {
  brokerFolder,
  bucketExists,
  bucketsIn,
  clusterUrl,
  directoryOf,
  directoryOfUrl,
  isSharedMemory,
  openManager,
  otherUsersText,
  addressText,
  printableUrl,
  segmentOf,
  sharedDirectories,
  urlOf,
} = require('./table-options.js');
const { fileSystemOf } = require('./file-systems.js');
const { fault, noted, ok, printFinding, warning } = require('./findings.js');
const { removesAtLogout, read } = require('./systemd.js');
const {
  barredFolder,
  checkSharedDirectory,
  isMeantForGroup,
  octal,
} = require('./shared-directory.js');
const { groupText, groupWithId, userName } = require('./users-and-groups.js');
const {
  accessOf,
  isKnownMember,
  networkWithoutSockets,
} = require('../backends/directory-access.js');
const { isGone } = require('../locks/process-facts.js');
const { readProcessReport } = require('../process-report.js');
const { printable } = require('./printable.js');
const { version } = require('../../package.json');
const { BlockGraph, MAX_LISTED } = require('./block-graph.js');
const { formatDuration } = require('./durations.js');
const { usageOf } = require('./internals.js');
const { isRemarkable, lockRows, pidText } = require('./lock-rows.js');
const { EXIT_STATUS } = require('./exit-status.js');
const { printLine, toJson } = require('./output.js');
const { integerFrom } = require('./seconds.js');

/** @typedef {import('./findings.js').Finding} Finding */
/** @typedef {import('./table-options.js').Address} Address */

const MEBIBYTE = 2 ** 20;
const DEFAULT_CAPACITY = 64 * MEBIBYTE;
const BLOCK_BYTES = 512;
const OTHERS_BITS = 0o077;
const ROOT = 0;

/** @param {Address} options */
function sourceOf({ directory, url }) {
  if (directory !== undefined) return '--directory';
  if (url !== undefined) return '--url';
  if (process.env.HOLDFAST_URL) return 'HOLDFAST_URL';
  return process.env.HOLDFAST_DIR ? 'HOLDFAST_DIR' : 'the default';
}

/** @param {number} uid */
const isOwn = (uid) => uid === /** @type {() => number} */ (process.geteuid)();

/** @param {string} file */
function statOf(file) {
  try {
    return statSync(file);
  } catch {
    return undefined; // it is not there, or not reached
  }
}

/** @param {string} directory */
function isForGroup(directory) {
  const found = statOf(directory);
  return found !== undefined && isMeantForGroup(found);
}

/**
 * @param {string} directory  exists
 * @param {string} bucket  the folder of the bucket
 * @returns {Finding[]}
 */
function checkAccess(directory, bucket) {
  const found = lstatSync(directory);
  if (found.isSymbolicLink()) {
    return [fault(`${directory} is a symbolic link`, 'remove it, or name its target')];
  }
  if (isMeantForGroup(found)) return checkSharedDirectory(directory, found, bucket);
  const { uid, mode } = found;
  if (!isOwn(uid)) {
    return [
      fault(
        `${directory} belongs to user ${uid}, and this is user ${process.geteuid?.()}`,
        'run as that user, choose a directory, or as root: holdfast share, for a group of users',
      ),
    ];
  }
  if ((mode & OTHERS_BITS) !== 0) {
    const advice = `chmod 700 ${directory}, or for a group of users: holdfast share`;
    return [fault(`${directory} has mode ${octal(mode)}: others could change it`, advice)];
  }
  return [ok(`${directory} belongs to this user alone`)];
}

/** @param {string} directory  or its parent, if it has not been made @returns {Finding[]} */
function checkNetwork(directory) {
  const { network } = fileSystemOf(directory);
  if (network === undefined) return [];
  return [
    fault(
      `${directory} is on ${network}: its memory is not shared between machines`,
      'use a directory in /dev/shm; for several machines use postgres:// or etcd://',
    ),
  ];
}

/**
 * @param {Address} options
 * @returns {Finding[]}
 */
function checkBrokerDirectory(options) {
  const folder = brokerFolder(options);
  const directory = folder && path.dirname(folder);
  const network = directory && networkWithoutSockets(directory);
  if (!network) return [];
  return [
    fault(
      `${directory} is on ${network}: its sockets lead to no other machine`,
      'use a directory on a local file system; for several machines use postgres:// or etcd://',
    ),
  ];
}

/**
 * @param {string} directory  or its parent, if it has not been made
 * @param {number} missing  bytes of the bucket that the file system has not allocated yet
 * @returns {Finding[]}
 */
function checkFileSystem(directory, missing) {
  const { type, isInMemory, freeBytes: free } = fileSystemOf(directory);
  const findings = checkNetwork(directory);
  if (findings.length > 0) return findings;
  if (isInMemory) findings.push(ok('the file system is in memory (tmpfs)'));
  else {
    findings.push(
      warning(
        `${directory} is on a disk (file system type 0x${type.toString(16)})`,
        'it works, but writes to a disk: /dev/shm or /run is better',
      ),
    );
  }
  const advice =
    'make room there, or give the container more shared memory (docker run --shm-size=256m)';
  if (missing > 0 && free === 0) {
    findings.push(fault('the file system is full: requests for locks will be refused', advice));
  } else if (free < Math.min(missing, DEFAULT_CAPACITY / 8)) {
    findings.push(warning(`only ${Math.round(free / MEBIBYTE)} MiB are free there`, advice));
  }
  return findings;
}

/**
 * @param {string} segment
 * @returns {Finding[]}
 */
function checkSegment(segment) {
  const { size, blocks, nlink, uid } = statSync(segment);
  if (!isOwn(uid) && !isForGroup(path.dirname(path.dirname(segment)))) {
    return [fault(`${segment} belongs to user ${uid}`, 'its owner has to remove it')];
  }
  if (nlink !== 1) return [fault(`${segment} has ${nlink} names`, 'remove the other links')];
  const used = Math.round((blocks * BLOCK_BYTES) / MEBIBYTE);
  return [ok(`${segment}: ${Math.round(size / MEBIBYTE)} MiB, ${used} MiB of memory used`)];
}

/** Memory that the bucket has not been given yet. @param {string} segment */
function missingBytes(segment) {
  const { size, blocks } = statSync(segment);
  return Math.max(0, size - blocks * BLOCK_BYTES);
}

/** Shared directories, which this process may have been meant to use. @returns {Finding[]} */
function checkSharedNeighbours(/** @type {string} */ directory) {
  if (process.geteuid?.() === ROOT) return []; // otherUsersText() names them
  const others = sharedDirectories(false).filter((one) => one !== directory);
  if (others.length === 0) return [];
  const advice = `is HOLDFAST_DIR=${others[0]} missing in the environment of this process?`;
  return [noted(`other locks are shared with a group of users in ${others.join(', ')}`, advice)];
}

/** Buckets of other users, which are no help and no harm. @returns {Finding[]} */
function checkNeighbours(/** @type {string} */ directory) {
  const root = '/dev/shm';
  if (!existsSync(root)) {
    return [warning('there is no /dev/shm', 'mount a tmpfs there, or set HOLDFAST_DIR')];
  }
  const own = `holdfast-${process.geteuid?.()}`;
  const others = readdirSync(root).filter((name) => /^holdfast-\d+$/.test(name) && name !== own);
  const findings = checkSharedNeighbours(directory);
  if (others.length === 0) return findings;
  return [noted(`other users have separate locks: ${others.join(', ')} in ${root}`), ...findings];
}

/**
 * @param {Address} options
 * @returns {Finding[]}
 */
function checkDirectory(options) {
  const directory = directoryOf(options);
  const bucket = options.bucket ?? 'default';
  const findings = [ok(`bucket '${bucket}' in ${directory} (from ${sourceOf(options)})`)];
  if (!path.isAbsolute(directory)) {
    const advice =
      'make it absolute: relative, it names another directory for every working directory';
    return [fault(`HOLDFAST_DIR is not absolute: ${directory}`, advice)];
  }
  const barred = barredFolder(directory);
  if (barred !== undefined) {
    const why = `this user (${process.geteuid?.()}) may not search ${barred}`;
    return [
      ...findings,
      fault(
        `${directory} is not reached: ${why}`,
        `chmod o+x ${barred}, or choose another directory`,
      ),
    ];
  }
  if (!existsSync(directory)) {
    findings.push(noted(`${directory} does not exist: no lock was used there yet`));
    const parent = path.dirname(directory);
    if (!existsSync(parent)) {
      const advice = `mkdir -p ${parent}, or choose another directory`;
      return [...findings, fault(`${parent} does not exist: no bucket can be made there`, advice)];
    }
    findings.push(...checkFileSystem(parent, DEFAULT_CAPACITY));
    return [...findings, ...checkNeighbours(directory)];
  }
  if (!statSync(directory).isDirectory()) {
    return [...findings, fault(`${directory} is not a directory`, 'choose another one')];
  }
  // First: an NFS server can take the rights of root away, and no owner or group gives them back.
  findings.push(...checkNetwork(directory));
  const segment = segmentOf(options);
  if (findings.every(({ level }) => level !== 'fault')) {
    findings.push(...checkAccess(directory, path.dirname(segment)));
  }
  // A directory that this user may not read is not examined further.
  if (findings.some(({ level }) => level === 'fault'))
    return [...findings, ...checkNeighbours(directory)];
  const isMade = existsSync(segment);
  findings.push(...checkFileSystem(directory, isMade ? missingBytes(segment) : DEFAULT_CAPACITY));
  if (isMade) findings.push(...checkSegment(segment));
  else {
    const names = bucketsIn(directory).map((name) => `'${name}'`);
    const others = names.length > 0 ? `; the buckets there are ${names.join(', ')}` : '';
    findings.push(noted(`there is no bucket '${bucket}' yet${others}`));
  }
  return [...findings, ...checkNeighbours(directory)];
}

/** @typedef {import('../../types/etcd.d.ts').EtcdExamination} Examination */
/** @typedef {import('../../types/etcd.d.ts').EtcdMemberExamination} Member */

/** From this share of a table, or of a quota, on there is little room left. */
const NEARLY_FULL = 0.8;
/** The clock of a member is known to about a second. */
const CLOCK_DIFFERENCE_MS = 3_000;
/** A lock takes two changes, one after the other. */
const SLOW_CHANGE_MS = 100;

const REFUSED = /ECONNREFUSED/;
const UNTRUSTED = /self-signed|unable to (get|verify)|unknown ca|issuer/i;
const CLIENT_CERTIFICATE = /(bad|valid client) certificate|certificate required|handshake failure/i;

/** Advice by the message of the connection. */
const CONNECTION_ADVICE = /** @type {[RegExp, string][]} */ ([
  [REFUSED, 'nothing listens there: does the member run, and is this its client port?'],
  [/ENOTFOUND|EAI_AGAIN|Name resolution/, 'the name is not known to the DNS of this machine'],
  [/EHOSTUNREACH|ENETUNREACH/, 'there is no way to that network from here'],
  [UNTRUSTED, "this machine does not trust the member's certificate: name its authority, ?ca=FILE"],
  [/altnames|Hostname\/IP/i, 'the certificate is for another host name'],
  [/certificate has expired|not yet valid/i, 'renew the certificate, or set the clock'],
  [CLIENT_CERTIFICATE, 'the member wants a certificate of the client: ?cert=FILE&key=FILE'],
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
  return known?.[1] ?? 'the message comes from the connection';
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
  const advice = 'compact and defragment it, and set --auto-compaction-retention';
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
function describeMember(member) {
  if (member.version === undefined) return 'an etcd that does not show its version to this user';
  const text = `etcd ${printable(member.version)}`;
  if (member.isLeader === undefined) return text;
  return `${text}, ${member.isLeader ? 'the leader' : 'a follower'}`;
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
    findings.push(fault(`${endpoint} has no leader: no lock is granted`, advice));
  }
  if (member.isLearner) {
    const advice = 'promote it (etcdctl member promote), or take it out of the URL';
    findings.push(fault(`${endpoint} only learns yet, and serves no request`, advice));
  }
  return [...findings, ...checkRoom(member), ...checkClock(member)];
}

/** @param {Member[]} members @returns {Finding[]} */
function checkTogether(members) {
  const reached = members.filter(({ clusterId }) => clusterId !== undefined);
  const clusters = new Set(reached.map(({ clusterId }) => clusterId));
  if (clusters.size > 1) {
    const list = reached.map(({ endpoint, clusterId }) => `${endpoint} of ${clusterId}`).join(', ');
    const advice = 'each cluster would have separate locks: name the members of one cluster';
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
    return 'the cluster has no users: leave user and password out of the URL';
  }
  if (/permission denied/.test(why)) {
    const grant = `etcdctl role grant-permission ROLE readwrite ${prefix}/ --prefix=true`;
    return `the user needs both rights: ${grant}`;
  }
  if (/no leader/.test(why)) {
    return 'more than half of all members have to run and reach each other';
  }
  if (/space exceeded/.test(why)) {
    return 'etcdctl compact, then defrag, then alarm disarm';
  }
  return 'the message comes from the cluster';
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
  return [warning(text, 'a lock takes twice that: check the disks and the network of the members')];
}

/** @param {Examination} examination @returns {Finding[]} */
function checkAlarms({ alarms, members }) {
  const advice = /** @type {Record<string, string>} */ ({
    NOSPACE: 'compact and defragment it, then "etcdctl alarm disarm"',
    CORRUPT: 'the data of members differ: replace the member that etcd names in its log',
  });
  if (!members.some(({ isReachable }) => isReachable)) return [];
  return alarms.map((name) =>
    fault(`the cluster has raised the alarm ${name}`, advice[name] ?? 'etcdctl alarm list'),
  );
}

/** @typedef {import('../../types/postgres.d.ts').PostgresHostExamination} Host */

/** Advice by what is wrong with a database. */
const DATABASE_ADVICE = /** @type {[RegExp, string][]} */ ([
  [/too old/, 'upgrade the server'],
  [/standby/, 'name the primary, or all hosts of the cluster: postgres://host1,host2/database'],
  [/read-only/, 'set it to off for the role, database and server, or name another role'],
  [/pooler/, 'name the server itself, or a pool with pool_mode = session and ?pooler=session'],
  [/may not create/, 'as an administrator: npx holdfast postgres --schema --grant ROLE | psql'],
  [/may not use/, 'as an administrator: npx holdfast postgres --grant ROLE | psql'],
  [/has no version/, 'end all programs, then: DROP SCHEMA holdfast CASCADE'],
  [/has version/, 'use one version of the package in all programs'],
  [/no encryption/, 'the server wants TLS: ?sslmode=verify-full'],
  [/not support SSL/, 'the server is without TLS: leave out sslmode, or set it up there'],
  [
    UNTRUSTED,
    "this machine does not trust the server's certificate: name its authority, ?sslrootcert=FILE",
  ],
  [CLIENT_CERTIFICATE, 'the server wants a certificate of the client: ?sslcert=FILE&sslkey=FILE'],
  [REFUSED, 'nothing listens there: does the server run, and is this its port?'],
  [/role .* does not exist/, 'create the role, or name another one'],
  [
    /password|authentication|pg_hba/i,
    'name the role and its password: postgres://role:password@host/database',
  ],
  [/does not exist/, 'create the database, or name another one'],
  [
    /too many/i,
    'raise max_connections; see the connections that each program needs in the documentation',
  ],
]);

/** @param {Host} host @returns {Finding[]} */
function checkHost({ endpoint, problem, ...found }) {
  if (problem !== undefined) {
    const known = DATABASE_ADVICE.find(([pattern]) => pattern.test(problem));
    const advice = known?.[1] ?? connectionAdvice(problem);
    return [fault(`${endpoint}: ${printable(problem)}`, advice)];
  }
  const { schemaVersion, connections = 0, maxConnections = 0, roundTripMs = 0 } = found;
  const text = `${endpoint}: ${connections} of ${maxConnections} connections are in use`;
  return [
    ok(
      `${endpoint}: PostgreSQL ${printable(found.version ?? '')}, an answer takes ${roundTripMs.toFixed(1)} ms`,
    ),
    schemaVersion === undefined
      ? noted(`${endpoint}: the schema 'holdfast' will be created at the first use`)
      : ok(`${endpoint}: the schema 'holdfast' has version ${schemaVersion}`),
    connections < maxConnections * NEARLY_FULL
      ? ok(text)
      : warning(text, 'a session takes one connection, and a second one from its first wait on'),
  ];
}

/**
 * Whether a database can keep locks for this role.
 * @param {string} url
 * @param {string} [bucket]
 * @returns {Promise<Finding[]>}
 * @throws TypeError (rejects) where the URL is not understood
 */
async function checkPostgres(url, bucket) {
  const { examinePostgres } = require('holdfast/postgres');
  try {
    const { hosts, isUsable } = await examinePostgres(url, { bucket });
    const findings = hosts.flatMap(checkHost);
    // Another host of the cluster has the locks.
    return isUsable
      ? findings.map((it) => (it.level === 'fault' ? warning(it.title, it.advice ?? '') : it))
      : findings;
  } catch (error) {
    if (error instanceof TypeError) throw error;
    return [fault(printable(/** @type {Error} */ (error).message), 'the message says what to do')];
  }
}

/**
 * Whether the members of a cluster can keep locks for this user.
 * @param {string} url
 * @param {string} [bucket]
 * @returns {Promise<Finding[]>}
 * @throws TypeError (rejects) where the URL is not understood
 */
async function checkEtcd(url, bucket) {
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

/**
 * The view of another process, read from /proc; undefined for files that this user may not read.
 * @param {number} pid
 */
const processView = (pid) => {
  const attempt = (/** @type {() => string} */ readIt) => {
    try {
      return readIt();
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
 * @param {Address} options
 */
function segmentOfOther(uid, { HOLDFAST_DIR, HOLDFAST_URL = '' }, { bucket }) {
  let directory = HOLDFAST_DIR || `/dev/shm/holdfast-${uid}`;
  try {
    if (/^shm:/i.test(HOLDFAST_URL)) directory = directoryOfUrl(HOLDFAST_URL) ?? directory;
  } catch {
    // That process has no locks by such a URL; that the URLs differ is a finding.
  }
  return path.join(directory, bucket ?? 'default', 'segment');
}

/**
 * The group of the directory of the locks, if it is a shared one.
 * @param {Address} options
 */
function groupOfLocks(options) {
  const found = isSharedMemory(options) ? statOf(directoryOf(options)) : undefined;
  const access = found === undefined ? 'there is none' : accessOf(found, directoryOf(options));
  return typeof access === 'string' ? undefined : access.group;
}

/**
 * Whether another process may use the locks as far as its user and its groups are concerned.
 * @param {View} view
 * @param {number} pid
 * @param {number | undefined} group  of the directory, if it is shared
 * @returns {{ uid: number, findings: Finding[] }}
 */
function checkUser(view, pid, group) {
  const status = view.text('status') ?? '';
  const uid = Number(status.match(/^Uid:\s+\d+\s+(\d+)/m)?.[1]);
  const own = process.geteuid?.();
  if (uid === own) return { uid, findings: [ok(`process ${pid} is of the same user (${uid})`)] };
  const title = `process ${pid} is of user ${userName(uid)}, this is user ${userName(Number(own))}`;
  if (group === undefined) {
    const advice =
      "locks are shared among processes of one user: run both as one, or 'holdfast share' " +
      'prepares a directory for a group';
    return { uid, findings: [fault(title, advice)] };
  }
  const ids = [/^Gid:\s+\d+\s+(\d+)/m, /^Groups:([\d\t ]*)/m].flatMap((pattern) =>
    (status.match(pattern)?.[1] ?? '').trim().split(/\s+/).map(Number),
  );
  const text = groupText(groupWithId(group));
  if (uid === ROOT || ids.includes(group)) {
    return { uid, findings: [ok(`${title}; both may use the directory of group ${text}`)] };
  }
  const isListed = isKnownMember(uid, group);
  const advice = isListed
    ? 'its user became a member after its start: restart it'
    : `usermod -aG ${groupWithId(group).name ?? group} ${userName(uid)}, then restart it`;
  return { uid, findings: [fault(`${title}; process ${pid} is not in group ${text}`, advice)] };
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
    return [warning(`there is no ${file} ${who}`, 'no lock of that bucket was used there yet')];
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
 * @param {Address} options
 * @returns {Finding[]}
 */
function compareWithProcess(pid, options) {
  const view = processView(pid);
  if (view.text('status') === undefined) {
    if (!isGone(pid)) {
      return [
        fault(`/proc does not show process ${pid} to this user (hidepid)`, 'run this as root'),
      ];
    }
    return [fault(`there is no process ${pid} here`, 'give its id as seen from this container')];
  }
  const command = (view.text('cmdline') ?? '').replaceAll('\0', ' ').trim();
  const { uid, findings } = checkUser(view, pid, groupOfLocks(options));
  findings.unshift(noted(`compared with process ${pid}: ${printable(command)}`));
  const environment = view.environment();
  if (environment === undefined) {
    const level = uid === process.geteuid?.() ? fault : warning;
    return [...findings, level('its environment cannot be read', 'run this as root')];
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

/** The highest id of a system user, whose files logind keeps. */
const MAX_SYSTEM_UID = 999;
const LOW_FILE_LIMIT = 1024;

/**
 * systemd-logind removes what a user has in /dev/shm when the last session of that user ends.
 * @param {string} directory
 * @returns {Finding[]}
 */
function checkRemoveIpc(directory) {
  const uid = process.geteuid?.() ?? 0;
  const removes = removesAtLogout(directory);
  const isShared = isForGroup(directory);
  const isExempt = uid <= MAX_SYSTEM_UID || existsSync(`/var/lib/systemd/linger/${uid}`);
  if (removes === 'no' || (isExempt && !isShared)) return [];
  if (removes === 'off') return [ok("systemd's RemoveIPC is off")];
  if (isShared) {
    return [
      warning(
        `systemd removes what a user has in ${directory} when the last session ends (RemoveIPC)`,
        'share a directory in /run, or set RemoveIPC=no in /etc/systemd/logind.conf',
      ),
    ];
  }
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
 * @param {import('./table-options.js').Address} options
 * @returns {Finding[]}
 */
function checkEnvironment(options) {
  return [...checkRemoveIpc(directoryOf(options)), ...checkContainer(), ...checkLimits()];
}

/** @returns {string} such as 'glibc 2.36', 'musl' */
function libcOf() {
  const glibc = readProcessReport()?.header?.glibcVersionRuntime;
  return glibc === undefined ? 'musl' : `glibc ${glibc}`;
}

/** The folder of the package that this program uses. */
function packageFolder() {
  try {
    return path.dirname(createRequire(__filename).resolve('holdfast/package.json'));
  } catch {
    return path.resolve(__dirname, '..');
  }
}

/** @returns {Finding[]} */
function checkNativePart() {
  const program = `holdfast ${version} in ${packageFolder()}`;
  const platform = `Node ${process.version}, ${process.platform}-${process.arch}, ${libcOf()}`;
  try {
    // No bucket is opened for this: the name is refused after the native part has been loaded.
    openLockManager({ bucket: '', url: 'shm:' }).isLocked('');
    return [];
  } catch (error) {
    const { code, message } = /** @type {any} */ (error);
    if (!/^ERR_HOLDFAST/.test(code ?? '')) {
      return [ok(program), ok(`the native part is loaded: ${platform}`)];
    }
    return [
      ok(program),
      fault(`the native part cannot be used: ${platform}: ${message}`, 'see the message'),
    ];
  }
}

/** @typedef {import('./lock-rows.js').LockRow} LockRow */

const LONG_HOLD_MS = 60_000;
const PERCENT = 100;

/** Advice about a process that does not run, by its state. */
const ADVICE = /** @type {Record<string, (pid: string) => string>} */ ({
  stopped: (pid) => `kill -CONT ${pid} continues it; or holdfast steal the lock`,
  traced: (pid) => `a debugger has stopped it: detach it from process ${pid}`,
  frozen: () => 'its container is paused: unpause it',
  zombie: (pid) => `its parent has not waited for it (ps -o ppid= -p ${pid})`,
  gone: () => 'a command that it started still keeps the lock (holdfast exec was killed)',
});

/** @param {import('../../types/backend.d.ts').LockTableUsage | undefined} usage */
function checkUsage(usage) {
  if (usage === undefined) return [];
  const findings = [];
  const shares = [
    { what: 'the lock table', part: usage.usedCells, of: usage.maxCells, unit: 'cells' },
    { what: 'the seats for processes', part: usage.processes, of: usage.maxProcesses, unit: '' },
    { what: 'the seats for threads', part: usage.agents, of: usage.maxAgents, unit: '' },
  ];
  for (const { what, part, of, unit } of shares) {
    const text = `${what}: ${part} of ${of} ${unit}`.trimEnd();
    if (part < of * NEARLY_FULL) findings.push(ok(text));
    else {
      const advice = "find who has so many with 'holdfast ls'; a new bucket may have more capacity";
      findings.push(warning(`${text} (${Math.round((part / of) * PERCENT)} %)`, advice));
    }
  }
  return findings;
}

/** @param {LockRow[]} rows */
function checkHolders(rows) {
  const findings = [];
  /** @type {Map<string, number>} */
  const waiting = new Map();
  for (const { state, name } of rows) {
    if (state === 'waiting') waiting.set(name, (waiting.get(name) ?? 0) + 1);
  }
  for (const row of rows.filter((one) => one.state === 'held')) {
    const waiters = waiting.get(row.name) ?? 0;
    const who = `'${printable(row.name)}' is held by process ${pidText(row)}`;
    if (isRemarkable(row)) {
      const what = `${who}, which is ${row.processState}; ${waiters} wait`;
      findings.push(warning(what, ADVICE[row.processState](pidText(row))));
    } else if (waiters > 0 && (row.held ?? 0) > LONG_HOLD_MS) {
      const what = `${who} for ${formatDuration(row.held)}; ${waiters} wait`;
      findings.push(warning(what, 'a forgotten release()? see its label, call site and command'));
    }
  }
  return findings;
}

/** @param {{ name: string }[]} members */
function listNames(members) {
  const names = members.slice(0, MAX_LISTED).map(({ name }) => `'${printable(name)}'`);
  const left = members.length - names.length;
  return names.join(', ') + (left > 0 ? ` and ${left} more` : '');
}

/** @param {import('../../types/locks.d.ts').LockManagerInspection} inspection */
function checkDeadlocks(inspection) {
  const { deadlocks } = new BlockGraph(inspection);
  const findings = deadlocks.slice(0, MAX_LISTED).map(({ members, behind }) => {
    const also = behind > 0 ? `; ${behind} more wait behind it` : '';
    const what = `a deadlock of ${members.length} requests, for ${listNames(members)}${also}`;
    return warning(what, 'holdfast graph shows it');
  });
  const left = deadlocks.length - findings.length;
  if (left > 0) findings.push(warning(`${left} more deadlocks`, 'holdfast graph shows them'));
  return findings;
}

/**
 * Opens the bucket as any program would, and reads its content.
 * @param {import('./table-options.js').Address} options
 * @returns {Promise<Finding[]>}
 */
async function checkTable(options) {
  if (!bucketExists(options)) {
    if (isSharedMemory(options)) return []; // the check of the directory has said so
    return [noted('no program has used a lock of this bucket yet')];
  }
  const manager = openManager(options);
  try {
    const inspection = await manager.inspect();
    const rows = lockRows(inspection);
    const names = new Set(rows.map(({ name }) => name)).size;
    const { held, pending } = inspection;
    const summary = `${names} names, ${held.length} held, ${pending.length} waiting`;
    return [
      ok(`the bucket can be opened: ${summary}`),
      ...checkUsage(usageOf(manager)),
      ...checkHolders(rows),
      ...checkDeadlocks(inspection),
    ];
  } catch (error) {
    const { message } = /** @type {Error} */ (error);
    return [fault(`the bucket cannot be opened: ${message}`, 'the message says what to do')];
  } finally {
    manager.close();
  }
}

/** @typedef {import('./table-options.js').Address & { pid?: number }} Options */

const MAX_PID = 2 ** 22;

/**
 * @param {Options} options
 * @returns {Promise<Finding[]>}
 */
async function examine(options) {
  const findings = isSharedMemory(options)
    ? [...checkNativePart(), ...checkDirectory(options)]
    : [noted(`locks of ${addressText(options)}`), ...checkBrokerDirectory(options)];
  const cluster = clusterUrl(options);
  if (cluster !== undefined) {
    const check = /^etcd/i.test(cluster) ? checkEtcd : checkPostgres;
    findings.push(...(await check(cluster, options.bucket)));
  }
  // A table that cannot be opened is not opened: the findings about its address say why.
  const isUsable = !findings.some(({ level }) => level === 'fault');
  if (isUsable) findings.push(...(await checkTable(options)));
  if (isSharedMemory(options)) findings.push(...checkEnvironment(options));
  const others = otherUsersText(options);
  if (others !== '') findings.push(noted(others));
  if (options.pid !== undefined) findings.push(...compareWithProcess(options.pid, options));
  return findings;
}

/** @param {Options} options */
async function doctor(options) {
  const findings = await examine(options);
  const faults = findings.filter(({ level }) => level === 'fault').length;
  const warnings = findings.filter(({ level }) => level === 'warning').length;
  // Before the output, whose reader may close it early.
  if (faults > 0) process.exitCode = EXIT_STATUS.no;
  if (options.json) {
    for (const finding of findings) printLine(toJson(finding));
  } else {
    for (const finding of findings) printFinding(finding);
    printLine('');
    printLine(
      faults + warnings === 0
        ? 'No problem was found.'
        : `Problems: ${faults}, warnings: ${warnings}; what to do stands behind each arrow.`,
    );
  }
}

/** @param {import('commander').Command} program */
const add = (program) =>
  program
    .command('doctor')
    .description('check whether these places can share locks, and if not, say why')
    .option(
      '--pid <pid>',
      'compare with this process: does it share the locks?',
      integerFrom(1, MAX_PID),
    )
    .option('--json', 'one JSON object per finding')
    .action(doctor);

module.exports = { checkEtcd, add, checkHolders, checkHost };
