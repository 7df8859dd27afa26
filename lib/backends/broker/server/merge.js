'use strict';

const { VIEW } = require('../wire.js');

/** @typedef {import('./broker-table.js').BrokerTable} BrokerTable */
/** @typedef {import('./client-connection.js').ClientConnection} ClientConnection */
/** @typedef {import('./session.js').Session} Session */

/**
 * @typedef {object} Told  what a client says of one request
 * @property {number} view
 * @property {import('./remote-request.js').Asked} asked
 * @property {number} high
 * @property {number} low
 * @property {boolean} isNew  it is asked for where the table does not know it
 */

/**
 * What a client says of one request, and what the table knows of it.
 * @param {BrokerTable} table
 * @param {Session} session
 * @param {ClientConnection} connection
 * @param {Told} told
 */
function mergeOne(table, session, connection, { view, asked, high, low, isNew }) {
  const [id] = asked;
  const entry = session.entries.get(id);
  if (view === VIEW.RELEASING) {
    connection.send(['d', id, table.release(session, id) ?? null]);
  } else if (entry === undefined && view === VIEW.HELD) {
    connection.send(['l', id, 'disconnected', high, low]);
  } else if (entry === undefined) {
    if (isNew) table.request(session, asked);
  } else if (entry.list === null) {
    const { tokenHigh, tokenLow } = entry.request;
    connection.send(['l', id, entry.lossReason, tokenHigh, tokenLow]);
  } else if (view === VIEW.WAITING && entry.isHeld) {
    connection.send(['g', id, entry.request.tokenHigh, entry.request.tokenLow]);
  } else if (view === VIEW.WAITING) {
    connection.send(['w', id]);
  }
}

module.exports = { mergeOne };
