'use strict';

const webidl = require('../../lib/webidl.js');

const hostile = (thrown) => ({
  toString() {
    throw thrown;
  },
});

describe('toDOMString', () => {
  test.each([
    ['text', 'text'],
    ['\ud800', '\ud800'],
    [undefined, 'undefined'],
    [null, 'null'],
    [-0, '0'],
    [1n, '1'],
    [{ toString: () => 'mine', valueOf: () => 'not this' }, 'mine'],
    [{ [Symbol.toPrimitive]: (hint) => hint }, 'string'],
  ])('%p becomes %p', (value, text) => {
    expect(webidl.toDOMString(value)).toBe(text);
  });

  test('a symbol and an object without a primitive are refused', () => {
    expect(() => webidl.toDOMString(Symbol('text'))).toThrow(TypeError);
    expect(() => webidl.toDOMString(Object.create(null))).toThrow(TypeError);
  });

  test('an error of the value is passed on', () => {
    const thrown = new RangeError('mine');
    expect(() => webidl.toDOMString(hostile(thrown))).toThrow(thrown);
  });
});

describe('toBoolean', () => {
  test.each([0, NaN, '', null, 0n, false])('%p is false', (value) => {
    expect(webidl.toBoolean(value)).toBe(false);
  });

  test.each([1, 'false', {}, [], Symbol('s'), new Boolean(false)])('%p is true', (value) => {
    expect(webidl.toBoolean(value)).toBe(true);
  });
});

describe('enumConverter', () => {
  const toColour = webidl.enumConverter('Colour', ['red', 'blue']);

  test('gives a member for what converts to its text', () => {
    expect(toColour('red')).toBe('red');
    expect(toColour({ toString: () => 'blue' })).toBe('blue');
  });

  test.each(['Red', '', null, 'toString', ['red', 'blue']])('refuses %p', (value) => {
    expect(() => toColour(value)).toThrow(TypeError);
  });

  test('names the enumeration and its members when it refuses', () => {
    expect(() => toColour('green')).toThrow("'green' is not a valid value of Colour: red, blue");
  });
});

describe('toCallback', () => {
  test.each([() => {}, async () => {}, class {}, new Proxy(() => {}, {})])(
    'takes what is callable',
    (value) => {
      expect(webidl.toCallback(value)).toBe(value);
    },
  );

  test.each([undefined, null, {}, 'call', new Proxy({}, {})])('refuses %p', (value) => {
    expect(() => webidl.toCallback(value)).toThrow(TypeError);
  });
});

describe('toAbortSignal', () => {
  test('takes signals of every origin', () => {
    const { signal } = new AbortController();
    for (const each of [
      signal,
      AbortSignal.abort(),
      AbortSignal.timeout(1),
      AbortSignal.any([signal]),
    ]) {
      expect(webidl.toAbortSignal(each)).toBe(each);
    }
  });

  test('takes a signal whose prototype is a derived one', () => {
    const prototype = Object.create(AbortSignal.prototype);
    const derived = Object.setPrototypeOf(new AbortController().signal, prototype);
    expect(webidl.toAbortSignal(derived)).toBe(derived);
  });

  test.each([
    ['null', null],
    ['an event target', new EventTarget()],
    ['a lookalike', { aborted: false, reason: undefined, addEventListener() {} }],
    ['an object with the prototype only', Object.create(AbortSignal.prototype)],
    ['the prototype', AbortSignal.prototype],
  ])('refuses %s', (_title, value) => {
    expect(() => webidl.toAbortSignal(value)).toThrow(TypeError);
  });
});

describe('dictionaries', () => {
  test.each([undefined, null])('%p has no members to read', (value) => {
    expect(webidl.toDictionarySource(value, 'Mine')).toBeUndefined();
  });

  test.each([0, 'text', true, 1n, Symbol('s')])('%p is refused', (value) => {
    expect(() => webidl.toDictionarySource(value, 'Mine')).toThrow(TypeError);
  });

  test('functions and objects without a prototype are sources', () => {
    for (const value of [() => {}, Object.create(null), []]) {
      expect(webidl.toDictionarySource(value, 'Mine')).toBe(value);
    }
  });

  test('a member is read once and converted', () => {
    let reads = 0;
    const source = {
      get member() {
        reads += 1;
        return 1;
      },
    };
    expect(webidl.toMember(source.member, webidl.toDOMString, 'default')).toBe('1');
    expect(reads).toBe(1);
  });

  test('an undefined member takes the default, null does not', () => {
    const source = { member: undefined, other: null };
    expect(webidl.toMember(source.member, webidl.toDOMString, 'default')).toBe('default');
    expect(webidl.toMember(source.other, webidl.toDOMString, 'default')).toBe('null');
  });
});

describe('toSequence()', () => {
  const { toSequence } = webidl;

  test('converts each element of anything that can be iterated over', () => {
    expect(toSequence(new Set([1, 'b']), String)).toEqual(['1', 'b']);
  });

  test.each([undefined, null, 'text', 7, {}, { length: 1, 0: 'a' }])('refuses %p', (value) => {
    expect(() => toSequence(value, String)).toThrow(TypeError);
  });
});
