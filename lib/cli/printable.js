'use strict';

/** Control characters, what turns the direction of text, line separators, lone surrogates. */
const UNPRINTABLE =
  // eslint-disable-next-line no-control-regex -- they are what is to be found
  /[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]|\p{Surrogate}/gu;

/**
 * Text that came from another process, such as a lock's name, as it may go to a terminal: it must
 * not move the cursor, change the window's title or look like another line.
 * @param {string} text
 * @returns {string}
 */
function printable(text) {
  return text.replace(UNPRINTABLE, (unit) => {
    const code = unit.charCodeAt(0);
    if (unit === '\n') return '\\n';
    if (unit === '\t') return '\\t';
    const digits = code.toString(16).padStart(code < 0x100 ? 2 : 4, '0');
    return code < 0x100 ? `\\x${digits}` : `\\u${digits}`;
  });
}

module.exports = { printable };
