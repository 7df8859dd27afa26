'use strict';

const { existsSync, readdirSync, readFileSync } = require('node:fs');
const path = require('node:path');
const { createRequire } = require('node:module');
const { openLockManager } = require('holdfast');
const {
  bucketExists,
  clusterUrl,
  directoryOf,
  isSharedMemory,
  openPlace,
  otherUsersText,
  placeText,
} = require('./table-options.js');
const { fault, noted, ok, warning } = require('./doctor/finding.js');
const { version } = require('../../package.json');
const { BlockGraph, MAX_LISTED } = require('./block-graph.js');
const { formatDuration } = require('./durations.js');
const { usageOf } = require('./internals.js');
const { isRemarkable, lockRows, pidText } = require('./lock-rows.js');
const { printable } = require('./printable.js');
const { checkCluster } = require('./doctor/cluster.js');
const { checkPlace } = require('./doctor/directory.js');
const { compareWithProcess } = require('./doctor/other-process.js');
const { EXIT_STATUS } = require('./exit-status.js');
const { colors, printLine, toJson } = require('./output.js');
const { integerFrom } = require('./seconds.js');

/** @typedef {import('./doctor/finding.js').Finding} Finding */

/** The highest id of a system user. logind removes the files of other users when they log out. */
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
 * @param {import('./table-options.js').Place} options
 * @returns {Finding[]}
 */
function checkEnvironment(options) {
  return [...checkRemoveIpc(directoryOf(options)), ...checkContainer(), ...checkLimits()];
}

/** @returns {string} such as 'glibc 2.36', 'musl' */
function libcOf() {
  const report = /** @type {any} */ (process.report?.getReport());
  const glibc = report?.header?.glibcVersionRuntime;
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
    openLockManager({ bucket: '' }).isLocked('');
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

/** From this share on there is little room left. */
const NEARLY_FULL = 0.8;
const LONG_HOLD_MS = 60_000;
const PERCENT = 100;

/** Advice about a process that does not run, by its state. */
const ADVICE = /** @type {Record<string, (pid: string) => string>} */ ({
  stopped: (pid) => `kill -CONT ${pid} lets it go on; or holdfast steal the lock`,
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
    { what: 'the places for processes', part: usage.processes, of: usage.maxProcesses, unit: '' },
    { what: 'the places for threads', part: usage.agents, of: usage.maxAgents, unit: '' },
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
 * Opens the bucket as any program would, and looks at what is in it.
 * @param {import('./table-options.js').Place} options
 * @returns {Promise<Finding[]>}
 */
async function checkTable(options) {
  if (!bucketExists(options)) {
    if (isSharedMemory(options)) return []; // the check of the directory has said so
    return [noted('no program has used a lock of this bucket yet')];
  }
  const manager = openPlace(options);
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

/** @typedef {import('./table-options.js').Place & { pid?: number }} Options */

const MAX_PID = 2 ** 22;

const MARKS = {
  ok: colors.green('ok  '),
  note: colors.cyan('note'),
  warning: colors.yellow('WARN'),
  fault: colors.red('FAIL'),
};

/** @param {Finding} finding */
function printFinding({ level, title, advice }) {
  printLine(`${MARKS[level]}  ${printable(title)}`);
  if (advice !== undefined) printLine(`      ${colors.bold('→')} ${printable(advice)}`);
}

/**
 * @param {Options} options
 * @returns {Promise<Finding[]>}
 */
async function examine(options) {
  const findings = isSharedMemory(options)
    ? [...checkNativePart(), ...checkPlace(options)]
    : [noted(`locks of ${placeText(options)}`)];
  const cluster = clusterUrl(options);
  if (cluster !== undefined) findings.push(...(await checkCluster(cluster, options.bucket)));
  // A table that cannot be opened is not opened: the findings about its place say why.
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

module.exports = { add, checkHolders };
