'use strict';

const fc = require('fast-check');
const { LineReader, WireError, toLine } = require('../../lib/backends/broker/wire.js');
const { PendingBytes } = require('../../lib/backends/broker/server/journal.js');

const number = fc.oneof(fc.integer(), fc.double(), fc.constantFrom(-0, NaN, Infinity, 2 ** 53));
const text = fc.string({ unit: 'binary' });
/** With lone surrogates, newlines and all else that a name may have. */
const anyText = fc.oneof(
  text,
  fc.array(fc.integer({ min: 0, max: 0xffff })).map((units) => String.fromCharCode(...units)),
);
const value = fc.oneof(
  number,
  anyText,
  fc.constantFrom(null, undefined, true, false),
  fc.array(fc.oneof(number, anyText)),
  fc.dictionary(anyText, number),
);
const message = fc.tuple(fc.constantFrom('q', 'hello', '?', 'H'), fc.array(value));

test('a message is the line that JSON makes of it', () => {
  fc.assert(
    fc.property(message, ([kind, rest]) => {
      expect(toLine([kind, ...rest])).toBe(`${JSON.stringify([kind, ...rest])}\n`);
    }),
  );
});

test('messages arrive whole and in order, wherever a connection cuts their bytes', () => {
  fc.assert(
    fc.property(fc.array(message), fc.array(fc.nat(40)), (messages, cuts) => {
      const lines = messages.map(([kind, rest]) => toLine([kind, ...rest]));
      const bytes = Buffer.from(lines.join(''));
      const read = [];
      const reader = new LineReader((one) => read.push(one));
      reader.trust();
      const used = Buffer.alloc(64); // over and over, as a socket's
      let at = 0;
      for (let i = 0; at < bytes.length; i += 1) {
        const length = bytes.copy(used, 0, at, at + 1 + (cuts[i % cuts.length] ?? 50));
        reader.push(used, length);
        used.fill(0x0a);
        at += length;
      }
      expect(read).toEqual(lines.map((line) => JSON.parse(line)));
    }),
  );
});

test.each([['\n'], ['{"a":1}\n'], ['["q"]\nx\n']])('%j is an error', (piece) => {
  expect(() => new LineReader(() => {}).push(Buffer.from(piece))).toThrow(WireError);
});

test('a stranger cannot fill the memory with a line in pieces', () => {
  const reader = new LineReader(() => {});
  const piece = Buffer.alloc(2 ** 15, 'x');
  reader.push(piece);
  reader.push(piece);
  expect(() => reader.push(piece)).toThrow(WireError);
});

test('texts are kept one behind the other, of any length, and forgotten on a call', () => {
  const pending = new PendingBytes();
  const texts = ['a\n', '€'.repeat(2 ** 16), 'ü\n', 'x'.repeat(2 ** 20), 'end\n'];
  for (let round = 0; round < 3; round += 1) {
    for (const one of texts) pending.add(one);
    const bytes = pending.bytes.subarray(0, pending.length);
    expect(bytes.equals(Buffer.from(texts.join('')))).toBe(true);
    pending.clear();
    expect(pending.length).toBe(0);
  }
});
