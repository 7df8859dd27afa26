'use strict';

const { existsSync, readdirSync } = require('node:fs');
const path = require('node:path');
const { openLockManager } = require('holdfast');
const { CommandError } = require('./exit-status.js');
const { printable } = require('./printable.js');

/** @typedef {import('commander').Command} Command */
/** @typedef {{ bucket?: string, directory?: string, url?: string, json?: boolean }} Place */

/** The file of a bucket in shared memory. */
const SEGMENT = 'segment';

/**
 * The options of every subcommand that say which locks are meant.
 * @param {Command} command
 */
function addPlaceOptions(command) {
  if (command.name() === 'completion') return command;
  return command
    .option('--bucket <name>', "the bucket (default: 'default')")
    .option('--directory <path>', 'where buckets are (default: $HOLDFAST_DIR or /dev/shm)')
    .option('--url <url>', 'where the locks live (default: $HOLDFAST_URL)');
}

/** @param {Place} place */
const urlOf = ({ url }) => url ?? (process.env.HOLDFAST_URL || undefined);

/**
 * For a person to read, who may show it to others.
 * @param {string} url
 */
const shownUrl = (url) => printable(url.replace(/(:\/\/[^/@:]*):[^/@]*@/, '$1:…@'));

/**
 * Which locks a command is about.
 * @param {Place} place
 */
function placeText(place) {
  const url = urlOf(place);
  if (url !== undefined) return shownUrl(url);
  return `${place.bucket ?? 'default'} in ${directoryOf(place)}`;
}

/**
 * Where buckets of shared memory are.
 * @param {Place} place
 * @returns {string}
 */
function directoryOf({ directory, url }) {
  if (directory !== undefined) return path.resolve(directory);
  if (url?.startsWith('shm:///')) return decodeURIComponent(new URL(url).pathname);
  const uid = /** @type {() => number} */ (process.geteuid)();
  return process.env.HOLDFAST_DIR || `/dev/shm/holdfast-${uid}`;
}

/**
 * Whether the locks are in shared memory, where they can be looked at from outside.
 * @param {Place} place
 */
function isSharedMemory(place) {
  const url = urlOf(place);
  if (url !== undefined) return url.startsWith('shm:');
  return process.platform === 'linux' && process.env.HOLDFAST_FALLBACK !== 'local';
}

/**
 * @param {Place} place
 * @returns {string} the file of the bucket in shared memory
 */
const segmentOf = (place) =>
  path.join(directoryOf({ ...place, url: urlOf(place) }), place.bucket ?? 'default', SEGMENT);

/** @param {Place} place */
const bucketExists = (place) => !isSharedMemory(place) || existsSync(segmentOf(place));

/**
 * The buckets of a directory, by name.
 * @param {string} directory
 * @returns {string[]}
 */
function bucketsIn(directory) {
  if (!existsSync(directory)) return [];
  return readdirSync(directory, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && existsSync(path.join(directory, entry.name, SEGMENT)))
    .map((entry) => entry.name)
    .sort();
}

/** @param {Place} place */
function openPlace({ bucket, directory, url }) {
  const isChosen = /** @type {Record<string, string | undefined>} */ ({ bucket, directory, url });
  const chosen = Object.entries(isChosen).filter(([, value]) => value !== undefined);
  return openLockManager(Object.fromEntries(chosen));
}

/**
 * As openPlace(), for a command that only looks: it makes no bucket where there is none.
 * @param {Place} place
 */
function openExistingPlace(place) {
  if (bucketExists(place)) return openPlace(place);
  const directory = directoryOf({ ...place, url: urlOf(place) });
  const others = bucketsIn(directory);
  const hint =
    others.length === 0
      ? 'nobody has used a lock here yet'
      : `the buckets here are ${others.map((name) => `'${name}'`).join(', ')}`;
  throw new CommandError(
    `there is no bucket '${place.bucket ?? 'default'}' in ${directory}: ${hint}. ` +
      'Programs may use another directory: "holdfast doctor --pid PID" compares.',
  );
}

module.exports = {
  addPlaceOptions,
  bucketExists,
  bucketsIn,
  directoryOf,
  isSharedMemory,
  openExistingPlace,
  openPlace,
  placeText,
  segmentOf,
  shownUrl,
};
