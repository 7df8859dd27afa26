'use strict';

const fs = require('node:fs');
const { invalidStateError } = require('../../../errors.js');
const { VERSION } = require('./journal.js');

/** @typedef {import('../broker-files.js').BrokerFiles} BrokerFiles */

/**
 * The known facts about a journal that cannot be understood.
 * @typedef {object} Damage
 * @property {string} file
 * @property {string} where  which part of it
 * @property {any[][]} records  that can be read, in front of the damage and behind it
 * @property {number} bytes  that cannot be read
 */

/** How each kind of record begins behind its name, as journal.js lists them. */
const BEGINNINGS = {
  J: ['number', 'number', 'number', 'number'],
  S: ['string', 'object'],
  P: ['string', 'string'],
  E: ['string'],
  ...Object.fromEntries([...'QHGLKD'].map((kind) => [kind, ['string', 'number']])),
};

/**
 * Reads the records of the last journal of the previous brokers, without a last record that was not
 * written to its end.
 * @param {BrokerFiles} place
 * @param {number} ownNumber  of the broker that reads it
 * @returns {{ records: any[][], damage: Damage | undefined }} of a damaged one, no records
 * @throws when it is not there to be read, or of another version
 */
function readLastJournal(place, ownNumber) {
  const earlier = place.journalNumbers().filter((number) => number < ownNumber);
  const last = Math.max(0, ...earlier);
  if (last === 0) return { records: [], damage: undefined };
  const file = place.journalFile(last);
  const text = fs.readFileSync(file, 'utf8');
  const zero = text.indexOf('\0');
  const end = zero === -1 ? text.length : zero;
  const lines = text.slice(0, end).split('\n');
  lines.pop();
  const behind = text.slice(end).replaceAll('\0', '');
  const found = [...lines, ...behind.split('\n')].map(toRecord);
  const records = found.filter((record) => record !== undefined);
  checkVersion(records, file);
  const bad = found.findIndex((record, i) => record === undefined && i < lines.length);
  if (bad === -1 && behind === '' && records[0]?.[0] === 'J') {
    giveUpReserve(file, lines);
    return { records, damage: undefined };
  }
  const where = bad === -1 ? `behind line ${lines.length}` : `line ${bad + 1}`;
  const bytes = text.length - end + lines.reduce((sum, line) => sum + line.length + 1, 0);
  return { records: [], damage: { file, where, records, bytes } };
}

/**
 * Cuts off the zeros that the dead broker had reserved: they are room for the next broker's
 * journal.
 * @param {string} file
 * @param {string[]} lines  that are whole
 */
function giveUpReserve(file, lines) {
  fs.truncateSync(
    file,
    lines.reduce((sum, line) => sum + Buffer.byteLength(line) + 1, 0),
  );
}

/**
 * @param {string} line
 * @returns {any[] | undefined} undefined: it is damaged
 */
function toRecord(line) {
  let record;
  try {
    record = JSON.parse(line);
  } catch {
    return undefined;
  }
  if (!Array.isArray(record) || !Object.hasOwn(BEGINNINGS, record[0])) return undefined;
  const types = BEGINNINGS[/** @type {keyof typeof BEGINNINGS} */ (record[0])];
  return types.every((type, i) => typeof record[i + 1] === type) ? record : undefined;
}

/**
 * @param {any[][]} records
 * @param {string} file
 */
function checkVersion(records, file) {
  const [kind, version] = records[0] ?? [];
  if (kind !== 'J' || version === VERSION) return;
  throw invalidStateError(
    `The last broker was of another version of holdfast. End the programs that use the bucket, ` +
      `then remove its journal: ${file}`,
  );
}

module.exports = { readLastJournal };
