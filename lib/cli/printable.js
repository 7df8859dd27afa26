'use strict';

/**
 * Control and format characters (among these all that turn the direction of text), line separators,
 * lone surrogates.
 */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Surrogate}]/gu;

/**
 * Text that came from another process, such as a lock's name, as it may go to a terminal. Such text
 * must not move the cursor, change the window's title or look like another line.
 * @param {string} text
 * @returns {string}
 */
function printable(text) {
  return text.replace(UNPRINTABLE, (character) => {
    if (character === '\n') return '\\n';
    if (character === '\t') return '\\t';
    const code = /** @type {number} */ (character.codePointAt(0));
    const digits = code.toString(16).padStart(code < 0x100 ? 2 : 4, '0');
    if (code > 0xffff) return `\\u{${digits}}`;
    return code < 0x100 ? `\\x${digits}` : `\\u${digits}`;
  });
}

/**
 * JSON that means the same, as it may go to a terminal.
 * @param {string} json
 * @returns {string}
 */
function printableJson(json) {
  const toEscape = (/** @type {string} */ unit) =>
    `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
  return json.replace(UNPRINTABLE, (character) => character.split('').map(toEscape).join(''));
}

module.exports = { printable, printableJson };
