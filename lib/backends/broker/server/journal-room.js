'use strict';

/** @typedef {import('./remote-request.js').Asked} Asked */
/** @typedef {import('./session.js').SessionDetails} SessionDetails */

/** What something new takes in the journal at most, and what is said where that is not there. */

const NO_ROOM = ['QuotaExceededError', 'The journal of the broker has no room: the disk is full'];

/** In the journal, a character takes up to six bytes. */
const MAX_BYTES_PER_UNIT = 6;
/** What else there is in the records of a request, its ends included. */
const MAX_OTHER_BYTES = 1024;

/**
 * What a session takes that is new.
 * @param {SessionDetails} details
 */
const bytesOfSession = ({ clientId, pidNamespace, thread, lifeline }) =>
  MAX_OTHER_BYTES +
  MAX_BYTES_PER_UNIT *
    (2 * clientId.length + pidNamespace.length + thread.length + lifeline.length);

/** @param {Asked} asked */
function bytesOfRequest([, name, , , extras]) {
  const units = name.length + (extras === null ? 0 : extras[2].length + extras[3].length);
  return MAX_OTHER_BYTES + 2 * MAX_BYTES_PER_UNIT * units;
}

module.exports = { NO_ROOM, bytesOfRequest, bytesOfSession };
