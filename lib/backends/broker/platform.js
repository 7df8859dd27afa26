'use strict';

const path = require('node:path');
const { userOfMachine } = require('../bucket-directory.js');

const PS = '/bin/ps';
/** The time limit for a ps that hangs. */
const MAX_MS = 5000;

/**
 * The time at which a process has started, as ps(1) prints it: the same text for each caller, in
 * each place.
 * @param {number} pid
 * @param {number} [maxMs]
 * @returns {Promise<string | undefined>} undefined: there is no such process, or no such ps
 */
function startByPs(pid, maxMs = MAX_MS) {
  const { execFile } = require('node:child_process'); // loaded where it is needed
  const options = { env: { LC_ALL: 'C', TZ: 'UTC0' }, timeout: maxMs };
  return new Promise((resolve) => {
    try {
      execFile(PS, ['-o', 'lstart=', '-p', String(pid)], options, (error, stdout) => {
        const start = stdout.trim();
        resolve(error === null && start !== '' ? start : undefined);
      });
    } catch {
      resolve(undefined); // no further process can be started
    }
  });
}

/**
 * Whether a process has ended, although another one may have its number by now.
 * @param {object} process
 * @param {number} process.pid
 * @param {string} [process.start]  when it has started, if that is known
 * @param {(pid: number) => Promise<string | undefined>} [startOf]
 * @returns {Promise<boolean>} false: it lives, or that is unknown
 */
async function hasEnded({ pid, start }, startOf) {
  if (!isProcessThere(pid)) return true;
  if (start === undefined || startOf === undefined) return false;
  const present = await startOf(pid);
  return present !== undefined && present !== start;
}

/** @param {number} pid */
function isProcessThere(pid) {
  if (pid <= 0) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return /** @type {any} */ (error).code === 'EPERM';
  }
}

/**
 * The differences between platforms: no other part of the broker differs. Each entry names its
 * source.
 *
 * @typedef {object} Platform
 * @property {(user: { uid: number, homedir: () => string }) => string} directory  where the
 *   buckets of a user are, whatever the environment of the process
 * @property {number} pathLimit  longest path of a socket in bytes; Infinity: sockets are not files
 * @property {(uid: number) => string} shortDirectory  for sockets whose path would be too long
 * @property {string[]} refusals  codes of connect() if no process listens
 * @property {boolean} isRefusalProof  a refusal proves that the listener has ended; otherwise its
 *   process must have ended, too
 * @property {((pid: number) => Promise<string | undefined>) | undefined} startOf  when a process
 *   has started, in words that stay the same; undefined if that is not to be had. Only where a
 *   refusal is no proof: a number of a process that has ended may be another's by now
 * @property {boolean} hasStopSignals  a process can be stopped and continued by another one
 * @property {boolean} hasModes  owner and mode bits say who may enter a directory
 * @property {boolean} hasSafeChmod  of a socket: nothing put in its place gets the mode
 */

const NO_LIMIT = () => '';

/** @type {Record<string, Platform>} */
const PLATFORMS = {
  // unix(7): sun_path has 108 bytes with the final zero. connect(2): ECONNREFUSED when no socket
  // listens at the address; a full backlog is EAGAIN, and a listener that is stopped still accepts.
  // open(2): O_PATH opens a socket, and /proc/self/fd leads to its inode.
  linux: {
    directory: ({ uid }) => `/dev/shm/holdfast-${uid}`,
    pathLimit: 107,
    shortDirectory: (uid) => `/dev/shm/holdfast-sockets-${uid}`,
    refusals: ['ECONNREFUSED', 'ENOENT'],
    isRefusalProof: true,
    startOf: undefined,
    hasStopSignals: true,
    hasModes: true,
    hasSafeChmod: true,
  },
  // unix(4): sun_path has 104 bytes with the final zero. A full backlog is ECONNREFUSED as well
  // (xnu, uipc_usrreq.c, unp_connect: sonewconn() fails), as is any where sockets are short, hence
  // no proof. The kernel keeps the wall clock of the fork, p_start, also when the clock is set
  // later (xnu, kern_fork.c), and ps(1) shows it as lstart. TMPDIR differs between login sessions
  // and daemons; the home directory comes from the user database. open() refuses a socket with
  // EOPNOTSUPP (xnu, vn_open_auth), and with it fs.lchmod().
  darwin: {
    directory: ({ homedir }) => path.posix.join(homedir(), 'Library', 'Caches', 'holdfast'),
    pathLimit: 103,
    shortDirectory: (uid) => `/tmp/holdfast-${uid}`,
    refusals: ['ECONNREFUSED', 'ENOENT'],
    isRefusalProof: false,
    startOf: startByPs,
    hasStopSignals: true,
    hasModes: true,
    hasSafeChmod: false,
  },
  // CreateFile on a pipe that has no instance: ERROR_FILE_NOT_FOUND, which libuv gives as ENOENT; a
  // busy one is ERROR_PIPE_BUSY and waits. libuv creates the first instance exclusively
  // (FILE_FLAG_FIRST_PIPE_INSTANCE). The profile is private by its access control list. uv_kill()
  // knows four signals, all of which end a process; others are ENOSYS.
  win32: {
    directory: ({ homedir }) => path.win32.join(homedir(), 'AppData', 'Local', 'holdfast'),
    pathLimit: Infinity,
    shortDirectory: NO_LIMIT,
    refusals: ['ENOENT', 'ECONNREFUSED'],
    isRefusalProof: true,
    startOf: undefined,
    hasStopSignals: false,
    hasModes: false,
    hasSafeChmod: false,
  },
};

/**
 * FreeBSD and others: as macOS, with the directory of the XDG base directory specification. FreeBSD
 * counts the start of a process from the boot (kern_proc.c, ki_start), so it moves with the clock.
 */
const OTHER_UNIX = {
  ...PLATFORMS.darwin,
  startOf: undefined,
  directory: (/** @type {{ homedir: () => string }} */ { homedir }) =>
    path.posix.join(homedir(), '.cache', 'holdfast'),
};

/**
 * @param {string} [name]  as process.platform gives it
 * @returns {Platform}
 */
const platformOf = (name = process.platform) =>
  Object.hasOwn(PLATFORMS, name) ? PLATFORMS[name] : OTHER_UNIX;

/**
 * The directory of the buckets of this user where nothing names another one.
 * @param {Platform} platform
 */
function defaultDirectory(platform) {
  return platform.directory({ uid: userOfMachine(), homedir: homeOfUser });
}

/**
 * Of the user database, whatever HOME says. A user of a container need not be there.
 * @returns {string}
 */
function homeOfUser() {
  try {
    return require('node:os').userInfo().homedir;
  } catch (cause) {
    throw new DOMException(
      `The system has no home directory for this user: HOLDFAST_DIR names another directory for ` +
        `locks (${/** @type {Error} */ (cause).message})`,
      'SecurityError',
    );
  }
}

/**
 * How many descriptors this process may have.
 * @returns {number} Infinity without /proc
 */
function maxDescriptors() {
  try {
    const limits = require('node:fs').readFileSync('/proc/self/limits', 'utf8');
    return Number(/^Max open files\s+(\d+)/m.exec(limits)?.[1] ?? Infinity);
  } catch {
    return Infinity;
  }
}

/** Characters that a file name keeps on every platform, also where case does not count. */
const PLAIN = /[^a-z0-9._-]/g;

/**
 * The folder of a bucket. No bucket of shared memory can have this name, and Windows reserves none
 * that begins and ends like it. Buckets that differ in upper and lower case have different folders,
 * too.
 * @param {string} bucket
 */
const folderNameOf = (bucket) =>
  `~${bucket.replace(PLAIN, (character) => `^${character.toLowerCase()}`)}~`;

/**
 * The variables that a broker's runtime needs: the paths of its libraries, and Deno's cache. All
 * else is the starter's own: secrets, preloaded modules, a debugger, the channel to its parent.
 */
const KEPT_VARIABLES = [
  'LD_LIBRARY_PATH',
  'DYLD_LIBRARY_PATH',
  'DYLD_FALLBACK_LIBRARY_PATH',
  'HOME',
  'USERPROFILE',
  'LOCALAPPDATA',
  'XDG_CACHE_HOME',
  'DENO_DIR',
  'SystemRoot',
];

/**
 * How a program of ours is started beside the running one.
 * @param {string} script
 * @param {string[]} args
 * @param {Record<string, string | undefined>} [versions]
 * @returns {{ file: string, args: string[], env: Record<string, string | undefined> }}
 */
function commandFor(script, args, versions = process.versions) {
  /** @type {Record<string, string | undefined>} */
  const env = {};
  for (const name of KEPT_VARIABLES) {
    if (process.env[name] !== undefined) env[name] = process.env[name];
  }
  if (versions.electron !== undefined) env.ELECTRON_RUN_AS_NODE = '1';
  const file = process.execPath;
  if (versions.deno !== undefined) return { file, args: ['run', '-A', script, ...args], env };
  if (versions.bun !== undefined) return { file, args: ['--smol', script, ...args], env };
  return { file, args: [...LEAN, script, ...args], env };
}

/** A broker needs little memory and no further threads. */
const LEAN = ['--v8-pool-size=0', '--max-semi-space-size=1'];

/** The folders of a `bun build --compile` program (bun, StandaloneModuleGraph.zig, base_path). */
const BUN_FOLDERS = ['/$bunfs/', 'B:/~BUN/', 'B:\\~BUN\\'];

/**
 * The packer that has made one file of the program and its interpreter, by the signs that packers
 * document. Then process.execPath starts the program again, whatever its arguments.
 * @param {any} [globals]
 * @returns {string | undefined} undefined: none that is known
 */
function packedAs(globals = globalThis) {
  const { Bun, Deno, process } = globals;
  if (isSea()) return 'a single executable application of Node.js';
  if (process.pkg !== undefined) return 'made by pkg';
  if (process.__nexe !== undefined) return 'made by nexe';
  if (BUN_FOLDERS.some((folder) => Bun?.main?.startsWith(folder))) {
    return 'made by bun build --compile';
  }
  if (Deno?.build?.standalone === true) return 'made by deno compile';
  if (process.versions.electron !== undefined && !mayRunAsNode(process)) {
    return "Electron's fuse runAsNode is off";
  }
  return undefined;
}

function isSea() {
  try {
    return require('node:sea').isSea();
  } catch {
    return false; // a runtime without them
  }
}

/** The text before the fuses in the binary of Electron (electron/fuses, src/constants.ts). */
const FUSES = 'dL7pKGdnNz796PbbjQWNKmHXBZaB9tsX';
/** Behind it: the version, the count, and one digit per fuse, of which runAsNode is the first. */
const RUN_AS_NODE_AT = FUSES.length + 2;
const OFF = 0x30;
const FRAMEWORK = '../../Frameworks/Electron Framework.framework/Electron Framework';

/**
 * @param {{ platform: string, execPath: string }} process
 * @returns {boolean} also true if that is unknown
 */
function mayRunAsNode({ platform, execPath }) {
  const { readFileSync } = require('node:fs');
  try {
    const binary = readFileSync(platform === 'darwin' ? path.join(execPath, FRAMEWORK) : execPath);
    const at = binary.indexOf(FUSES);
    return at === -1 || binary[at + RUN_AS_NODE_AT] !== OFF;
  } catch {
    return true;
  }
}

module.exports = {
  hasEnded,
  isProcessThere,
  startByPs,
  commandFor,
  defaultDirectory,
  folderNameOf,
  maxDescriptors,
  packedAs,
  platformOf,
};
