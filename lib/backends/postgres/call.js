'use strict';

/** @typedef {{ name: string, text: string }} Query  that the server plans once for a session */

/**
 * A call of a function that returns one text. pg's own Query copies its configuration, is an event
 * emitter, and has the server describe its columns: half of the client's time of a call.
 */
class Call {
  /** @type {string | null} */
  #answer = null;

  /**
   * @param {Query} query
   * @param {unknown[]} values
   * @param {(error: unknown, answer: string | null) => void} callback
   */
  constructor({ name, text }, values, callback) {
    this.name = name;
    this.text = text;
    this.values = values.map(String);
    this.callback = callback;
  }

  // The interface of pg for what is submitted; pg notes a statement that the server has parsed.

  /** @param {any} connection */
  submit(connection) {
    const { name, text, values } = this;
    connection.stream.cork();
    if (connection.parsedStatements[name] === undefined) connection.parse({ name, text });
    connection.bind({ statement: name, values });
    connection.execute({});
    connection.sync();
    connection.stream.uncork();
  }

  /** @param {{ fields: [string | null] }} row */
  handleDataRow({ fields }) {
    [this.#answer] = fields;
  }

  handleCommandComplete() {}

  /** @param {unknown} error */
  handleError(error) {
    this.callback(error, null);
  }

  handleReadyForQuery() {
    this.callback(null, this.#answer);
  }
}

module.exports = { Call };
