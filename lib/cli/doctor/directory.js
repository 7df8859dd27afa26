'use strict';

const { existsSync, lstatSync, readdirSync, statfsSync, statSync } = require('node:fs');
const path = require('node:path');
const { bucketsIn, directoryOf, segmentOf } = require('../table-options.js');
const { fault, noted, ok, warning } = require('./finding.js');

/** @typedef {import('./finding.js').Finding} Finding */
/** @typedef {import('../table-options.js').Place} Place */

const TMPFS = 0x0102_1994;
const RAMFS = 0x8584_58f6;
/** File systems over a network: memory that is mapped there is not shared between machines. */
const NETWORK_FILE_SYSTEMS = /** @type {Record<number, string>} */ ({
  0x6969: 'NFS',
  0xff53_4d42: 'CIFS',
  0xfe53_4d42: 'SMB2',
  0x0102_1997: '9P',
  0x6573_5546: 'FUSE',
  0x00c3_6400: 'Ceph',
});
const MEBIBYTE = 2 ** 20;
const DEFAULT_CAPACITY = 64 * MEBIBYTE;
const BLOCK_BYTES = 512;
const OTHERS_BITS = 0o077;

/** @param {Place} options */
function sourceOf({ directory, url }) {
  if (directory !== undefined) return '--directory';
  if (url !== undefined) return '--url';
  if (process.env.HOLDFAST_URL) return 'HOLDFAST_URL';
  return process.env.HOLDFAST_DIR ? 'HOLDFAST_DIR' : 'the default';
}

/** @param {number} uid */
const isOwn = (uid) => uid === /** @type {() => number} */ (process.geteuid)();

/**
 * @param {string} directory  exists
 * @returns {Finding[]}
 */
function checkOwner(directory) {
  const { uid, mode } = lstatSync(directory);
  const link = lstatSync(directory).isSymbolicLink();
  if (link) return [fault(`${directory} is a symbolic link`, 'remove it, or name its target')];
  if (!isOwn(uid)) {
    return [
      fault(
        `${directory} belongs to user ${uid}, and this is user ${process.geteuid?.()}`,
        'locks are shared among processes of one user: run as that user, or choose a directory',
      ),
    ];
  }
  if ((mode & OTHERS_BITS) !== 0) {
    const octal = (mode & 0o7777).toString(8);
    return [
      fault(`${directory} has mode ${octal}: others could change it`, `chmod 700 ${directory}`),
    ];
  }
  return [ok(`${directory} belongs to this user alone`)];
}

/**
 * @param {string} directory  or its parent, if it has not been made
 * @param {number} missing  bytes of the bucket that the file system has not allocated yet
 * @returns {Finding[]}
 */
function checkFileSystem(directory, missing) {
  const { type, bsize, bavail } = statfsSync(directory);
  const network = NETWORK_FILE_SYSTEMS[type];
  if (network !== undefined) {
    return [
      fault(
        `${directory} is on ${network}: its memory is not shared between machines`,
        'use a directory in /dev/shm; for several machines use etcd://',
      ),
    ];
  }
  const free = bsize * bavail;
  const findings = [];
  if (type === TMPFS || type === RAMFS) findings.push(ok('the file system is in memory (tmpfs)'));
  else {
    findings.push(
      warning(
        `${directory} is on a disk (file system type 0x${type.toString(16)})`,
        'it works, but writes to a disk: /dev/shm is better',
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
  if (!isOwn(uid)) {
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

/** Buckets of other users, which are no help and no harm. @returns {Finding[]} */
function checkNeighbours() {
  const root = '/dev/shm';
  if (!existsSync(root)) {
    return [warning('there is no /dev/shm', 'mount a tmpfs there, or set HOLDFAST_DIR')];
  }
  const own = `holdfast-${process.geteuid?.()}`;
  const others = readdirSync(root).filter((name) => /^holdfast-\d+$/.test(name) && name !== own);
  if (others.length === 0) return [];
  return [noted(`other users have locks of their own: ${others.join(', ')} in ${root}`)];
}

/**
 * @param {Place} options
 * @returns {Finding[]}
 */
function checkPlace(options) {
  const directory = directoryOf(options);
  const bucket = options.bucket ?? 'default';
  const findings = [ok(`bucket '${bucket}' in ${directory} (from ${sourceOf(options)})`)];
  if (!path.isAbsolute(directory)) {
    const advice = 'make it absolute: relative, it is another place for every working directory';
    return [fault(`HOLDFAST_DIR is not absolute: ${directory}`, advice)];
  }
  if (!existsSync(directory)) {
    findings.push(noted(`${directory} does not exist: nobody has used a lock there yet`));
    const parent = path.dirname(directory);
    if (!existsSync(parent)) {
      const advice = `mkdir -p ${parent}, or choose another directory`;
      return [...findings, fault(`${parent} does not exist: no bucket can be made there`, advice)];
    }
    findings.push(...checkFileSystem(parent, DEFAULT_CAPACITY));
    return [...findings, ...checkNeighbours()];
  }
  if (!statSync(directory).isDirectory()) {
    return [...findings, fault(`${directory} is not a directory`, 'choose another one')];
  }
  findings.push(...checkOwner(directory));
  // A directory that this user may not read is not examined further.
  if (findings.some(({ level }) => level === 'fault')) return [...findings, ...checkNeighbours()];
  const segment = segmentOf(options);
  const isMade = existsSync(segment);
  findings.push(...checkFileSystem(directory, isMade ? missingBytes(segment) : DEFAULT_CAPACITY));
  if (isMade) findings.push(...checkSegment(segment));
  else {
    const names = bucketsIn(directory).map((name) => `'${name}'`);
    const others = names.length > 0 ? `; the buckets there are ${names.join(', ')}` : '';
    findings.push(noted(`there is no bucket '${bucket}' yet${others}`));
  }
  return [...findings, ...checkNeighbours()];
}

module.exports = { checkPlace };
