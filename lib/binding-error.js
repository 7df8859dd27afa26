'use strict';

const { keepName } = require('./copies.js');

const FALLBACK_HINT =
  'HOLDFAST_URL=broker: gives locks without it, shared by all processes that use the same setting; ' +
  'HOLDFAST_FALLBACK=local gives locks that are shared within one thread only.';

/** The native part cannot be used. The message says why, and what to do. */
class BindingError extends Error {
  /**
   * @param {string} code `ERR_HOLDFAST_PLATFORM`, `ERR_HOLDFAST_RUNTIME`, `ERR_HOLDFAST_NOT_BUILT`,
   * `ERR_HOLDFAST_BUNDLED` or `ERR_HOLDFAST_NOT_LOADED`.
   * @param {string} message
   * @param {ErrorOptions} [options]
   */
  constructor(code, message, options) {
    super(`holdfast: ${message} ${FALLBACK_HINT}`, options);
    this.name = 'BindingError';
    this.code = code;
  }
}

keepName(BindingError, 'BindingError');

module.exports = { BindingError };
