'use strict';

/** The functions that a step may call, with the number of their parameters. */
const PARAMETERS = { enter: 14, leave: 6, change_priority: 6, expire: 4 };

/** @typedef {keyof typeof PARAMETERS} FunctionName */
/**
 * @typedef {[name: FunctionName, values: unknown[]]} FunctionCall
 *   the first values are the bucket and the key
 */

/**
 * The statements of steps, which the server plans once for a connection.
 * @param {string} functions  their schema
 */
function statementsOf(functions) {
  const calls = Object.entries(PARAMETERS).map(([name, count]) => {
    const parameters = Array.from({ length: count }, (_, index) => `$${index + 1}`);
    return `PREPARE holdfast_${name} AS SELECT ${functions}.${name}(${parameters.join()})`;
  });
  const keys = 'ARRAY(SELECT json_array_elements_text($2))';
  return [
    ...calls,
    `PREPARE holdfast_lock_names AS SELECT ${functions}.lock_names($1, ${keys})`,
  ].join(';');
}

/**
 * Calls of functions that return one text each, in one transaction: the server ends it at the
 * `Sync` (PostgreSQL, "Message Flow", "Pipelining"). pg's own Query copies its configuration, is an
 * event emitter, and has the server describe its columns: half of the client's time of a call.
 */
class Step {
  #calls;
  #callback;
  /** @type {(string | null)[]} */
  #answers = [];

  /**
   * @param {FunctionCall[]} calls
   * @param {(error: unknown, answers: (string | null)[]) => void} callback
   */
  constructor(calls, callback) {
    this.#calls = calls;
    this.#callback = callback;
  }

  // The interface of pg for what is submitted.

  /** @param {any} connection */
  submit(connection) {
    const [[, [bucket]]] = this.#calls;
    const keys = new Set(this.#calls.map(([, [, key]]) => key));
    /** @type {[name: string, values: unknown[]][]} */
    const calls = [...this.#calls];
    // Two steps in the opposite order would wait for each other.
    if (keys.size > 1) calls.unshift(['lock_names', [bucket, JSON.stringify([...keys])]]);
    connection.stream.cork();
    for (const [index, [name, values]] of calls.entries()) {
      const portal = String(index);
      connection.bind({ portal, statement: `holdfast_${name}`, values: values.map(String) });
    }
    // All values come first: a step that arrives in part, from a process that was stopped, or over
    // a network that fails, locks no name.
    for (const index of calls.keys()) connection.execute({ portal: String(index) });
    connection.sync();
    connection.stream.uncork();
  }

  /** @param {{ fields: [string | null] }} row */
  handleDataRow({ fields }) {
    this.#answers.push(fields[0]);
  }

  handleCommandComplete() {}

  /** @param {unknown} error */
  handleError(error) {
    this.#callback(error, []);
  }

  handleReadyForQuery() {
    this.#callback(null, this.#answers.slice(-this.#calls.length));
  }
}

module.exports = { Step, statementsOf };
