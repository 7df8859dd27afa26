'use strict';

/** Detects misspelt options: a dictionary of Web IDL ignores members that it does not know. */

/** Programs make such mistakes early; later calls must not pay for the check. */
const MAX_CHECKS = 1000;
const MAX_DISTANCE = 2;
/** Shorter names are near to too many words. */
const LONG_NAME = 7;

/** A program may keep options of several kinds in one object. @type {Set<string>} */
const allNames = new Set();

/**
 * @param {string} owner  for the message
 * @param {string[]} names
 */
function optionsOf(owner, names) {
  for (const name of names) allNames.add(name);
  return { owner, names: new Set(names), checksLeft: MAX_CHECKS };
}

const REQUEST_NAMES = [
  'ifAvailable',
  'mode',
  'signal',
  'steal',
  'deadlock',
  'holdLimit',
  'label',
  'limit',
  'maxPending',
  'priority',
  'reentrant',
  'timeout',
];
const OF_REQUEST = optionsOf('a lock request', REQUEST_NAMES);
const OF_MUTEX_REQUEST = optionsOf('a lock request', [...REQUEST_NAMES, 'blocking']);
const OF_WAIT = optionsOf('a wait for a mutex', ['signal', 'timeout']);
const OF_MUTEX = optionsOf('a mutex or semaphore', ['manager']);
const OF_LOCK_MANAGER = optionsOf('a lock manager', [
  'backend',
  'bucket',
  'callSites',
  'capacity',
  'directory',
  'url',
]);
const OF_ETCD = optionsOf('an etcd backend', ['bucket', 'ca', 'cert', 'key', 'password', 'user']);
const OF_POSTGRES = optionsOf('a PostgreSQL backend', ['bucket', 'pooler', 'ttl']);
const OF_METRICS = optionsOf('LockMetrics', ['bounds', 'manager', 'names', 'scope']);
const OF_RUN_EVERY = optionsOf('runEvery()', [
  'delivery',
  'every',
  'label',
  'manager',
  'offset',
  'onError',
  'signal',
  'store',
]);
const OF_SCHEDULER = optionsOf('a scheduler', ['budget', 'starvationLimit']);

/** @type {Set<string>} that were reported */
const warned = new Set();

/**
 * Warns once for each member that is not an option but nearly has the name of one.
 * @param {object} options  as passed; only the names of its members are read
 * @param {ReturnType<typeof optionsOf>} known
 */
function warnOfMisspeltOptions(options, known) {
  if (known.checksLeft === 0) return;
  known.checksLeft -= 1;
  for (const name in options) {
    if (!known.names.has(name) && !allNames.has(name)) warnIfNearlyRight(name, known);
  }
}

/**
 * @param {string} name
 * @param {ReturnType<typeof optionsOf>} known
 */
function warnIfNearlyRight(name, { owner, names }) {
  const id = `'${name}' is no option of ${owner}`;
  if (warned.has(id)) return;
  const meant = [...names].find((right) => isNear(name.toLowerCase(), right.toLowerCase()));
  if (meant === undefined) return;
  warned.add(id);
  process.emitWarning(`${id}: did you mean '${meant}'?`, {
    type: 'HoldfastWarning',
    code: 'HOLDFAST_UNKNOWN_OPTION',
  });
}

/**
 * @param {string} a
 * @param {string} b
 */
function isNear(a, b) {
  if (Math.abs(a.length - b.length) > MAX_DISTANCE) return false;
  return editDistance(a, b) <= (b.length < LONG_NAME ? 1 : MAX_DISTANCE);
}

/**
 * The Levenshtein distance.
 * @param {string} a
 * @param {string} b
 */
function editDistance(a, b) {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i += 1) {
    const above = row;
    row = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const replaced = above[j - 1] + Number(a[i - 1] !== b[j - 1]);
      row.push(Math.min(replaced, above[j] + 1, row[j - 1] + 1));
    }
  }
  return row[b.length];
}

module.exports = {
  OF_ETCD,
  OF_LOCK_MANAGER,
  OF_METRICS,
  OF_MUTEX,
  OF_MUTEX_REQUEST,
  OF_POSTGRES,
  OF_REQUEST,
  OF_RUN_EVERY,
  OF_SCHEDULER,
  OF_WAIT,
  warnOfMisspeltOptions,
};
