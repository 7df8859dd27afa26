'use strict';

/**
 * The exit statuses of the command line tool: the numbers are from <sysexits.h>, as in flock(1). A
 * command that runs under `exec` has its own.
 */
const EXIT_STATUS = /** @type {const} */ ({
  /** It is done, or it is as asked. */
  ok: 0,
  /** The lock is taken, the time is over, a check has failed, there is a deadlock. */
  no: 1,
  /** The command line is wrong. */
  usage: 64,
  /** The command cannot be run, or the lock table cannot be opened. */
  unavailable: 69,
  /** A fault of this program. */
  internal: 70,
  /** The output cannot be written. */
  output: 74,
  /** This user may not use the lock table. */
  noPermission: 77,
});

/** The meaning of each status, for the manual page. */
const MEANINGS = /** @type {const} */ ([
  ['0', 'success; for exec, what the command exited with'],
  ['1', 'no: the lock is taken, the time is over, a check failed, there is a deadlock'],
  ['64', 'the command line is wrong'],
  ['69', 'the command cannot be run, or the lock table cannot be opened'],
  ['70', 'a fault of holdfast'],
  ['74', 'the output cannot be written, because the disk is full for example'],
  ['77', 'this user may not use the lock table'],
  ['128+N', 'exec: the command was ended by signal N; 129: the terminal was closed'],
]);

/** An error that the user can do something about: shown as one line, without a stack. */
class CommandError extends Error {
  /**
   * @param {string} message
   * @param {number} [status]
   */
  constructor(message, status = EXIT_STATUS.unavailable) {
    super(message);
    this.name = 'CommandError';
    this.status = status;
  }
}

/**
 * The status of an error that came from a lock manager.
 * @param {unknown} error
 * @returns {number}
 */
function statusOf(error) {
  if (error instanceof CommandError) return error.status;
  const { name, code } = /** @type {any} */ (error ?? {});
  if (name === 'SecurityError') return EXIT_STATUS.noPermission;
  if (name === 'NotSupportedError') return EXIT_STATUS.usage; // a name that is reserved
  if (error instanceof DOMException) return EXIT_STATUS.unavailable;
  if (name === 'BindingError' || /^ERR_HOLDFAST/.test(code ?? '')) return EXIT_STATUS.unavailable;
  if (error instanceof TypeError && !/\bis not a function|of undefined/.test(error.message)) {
    return EXIT_STATUS.usage; // an argument that the lock manager refuses
  }
  return EXIT_STATUS.internal;
}

module.exports = { CommandError, EXIT_STATUS, MEANINGS, statusOf };
