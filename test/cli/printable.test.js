'use strict';

const { toJson } = require('../../lib/cli/output.js');
const { printable } = require('../../lib/cli/printable.js');

const FORBIDDEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Surrogate}]/u;
const everyCharacter = () =>
  Array.from({ length: 0x11_0000 }, (_, code) => String.fromCodePoint(code)).filter((one) =>
    FORBIDDEN.test(one),
  );

test('no control or format character reaches a terminal', () => {
  expect(printable('a\u061cb\u00adc\u{e0041}d')).toBe('a\\u061cb\\xadc\\u{e0041}d');
  expect(printable(everyCharacter().join(' '))).not.toMatch(FORBIDDEN);
});

test('JSON for a terminal has none either, and means the same', () => {
  const name = everyCharacter().join(' ');
  expect(toJson({ name })).not.toMatch(FORBIDDEN);
  expect(JSON.parse(toJson({ name }))).toEqual({ name });
});
