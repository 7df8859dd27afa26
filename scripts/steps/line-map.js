'use strict';

// Source maps (ECMA-426) of files that are made of whole lines of others.

/**
 * A line of another file.
 * @typedef {object} Place
 * @property {string} source  that file, as seen from the one that is mapped
 * @property {number} line  from 0 on
 */

const BASE64 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';

/** @param {number} value  whole */
function toVlq(value) {
  let rest = value < 0 ? (-value << 1) | 1 : value << 1;
  let text = '';
  do {
    const digit = rest & 31;
    rest >>>= 5;
    text += BASE64[rest > 0 ? digit | 32 : digit];
  } while (rest > 0);
  return text;
}

/**
 * @param {string} file  the name of the file that is mapped
 * @param {(Place | null)[]} places  where its lines come from
 */
function lineMap(file, places) {
  const named = places.flatMap((place) => (place === null ? [] : [place.source]));
  const sources = [...new Set(named)];
  let [lastSource, lastLine] = [0, 0];
  const mappings = places.map((place) => {
    if (place === null) return '';
    const source = sources.indexOf(place.source);
    const fields = [0, source - lastSource, place.line - lastLine, 0];
    [lastSource, lastLine] = [source, place.line];
    return fields.map(toVlq).join('');
  });
  return { version: 3, file, sources, names: [], mappings: mappings.join(';') };
}

module.exports = { lineMap };
