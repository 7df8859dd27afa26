'use strict';

// The classes of SQLSTATE: PostgreSQL, Appendix A.

const INSUFFICIENT_PRIVILEGE = '42501';
const INVALID_AUTHORIZATION = /^28/;
const INSUFFICIENT_RESOURCES = /^53/;
const TOO_MANY_CONNECTIONS = '53300';
const INVALID_CATALOG_NAME = '3D000';
const QUERY_CANCELED = '57014';
const LOCK_NOT_AVAILABLE = '55P03';
const INVALID_PARAMETER_VALUE = '22023';

/** @param {any} error */
const isRefusal = ({ code }) =>
  code === INSUFFICIENT_PRIVILEGE ||
  code === INVALID_CATALOG_NAME ||
  INVALID_AUTHORIZATION.test(code);

/**
 * Whether no later attempt can succeed unless an administrator changes something.
 * @param {any} error
 */
const isFinal = (error) => error instanceof DOMException || isRefusal(error);

const READ_ONLY = '25006';
const UNDEFINED_TABLE = '42P01';
const UNDEFINED_FUNCTION = '42883';
const INVALID_SCHEMA_NAME = '3F000';

/** Whether the schema was removed. @param {any} error */
const isSchemaGone = ({ code }) =>
  [UNDEFINED_TABLE, UNDEFINED_FUNCTION, INVALID_SCHEMA_NAME].includes(code);

/**
 * Whether the server refuses each change by a session. A new session may find it otherwise.
 * @param {any} error
 */
const isForAll = (error) => error.code === READ_ONLY || isSchemaGone(error);

/** Of errors that end the connection: of connections, of administrators, of time limits. */
const END_OF_CONNECTION = /^(?:08|57P|25P0[34])/;

/**
 * Whether the server has answered, rather than the connection failed. Each error of the server has
 * a severity, in the language of the server.
 * @param {any} error
 */
const isAnswer = ({ severity, code }) => severity !== undefined && !END_OF_CONNECTION.test(code);

/**
 * The lock manager's exception for a failure, as it crosses to the agent's thread.
 * @param {any} error
 * @returns {import('../remote/request-table.js').ErrorMessage}
 */
function describe(error) {
  const { code = '', message, name } = error;
  if (error instanceof DOMException) return { name, message };
  const text = `PostgreSQL refuses it: ${message}`;
  if (isRefusal(error)) return { name: 'SecurityError', message: text };
  const isForSpace = INSUFFICIENT_RESOURCES.test(code) && code !== TOO_MANY_CONNECTIONS;
  if (isForSpace) return { name: 'QuotaExceededError', message: text };
  return { name: 'InvalidStateError', message: code === '' ? message : text };
}

module.exports = {
  INVALID_PARAMETER_VALUE,
  LOCK_NOT_AVAILABLE,
  QUERY_CANCELED,
  describe,
  isAnswer,
  isFinal,
  isForAll,
  isSchemaGone,
};
