'use strict';

const {
  commentLines,
  mentionsIn,
  replaceMentions,
} = require('../../../scripts/steps/module-source.js');

const requiredIn = (text) => mentionsIn('a.js', text).map(({ required, when }) => [required, when]);

test('a require is read as code, and no text that looks like one', () => {
  const text = `
    // const a = require('./comment.js');
    /** @type {typeof import('./type.js')} */
    const b = "require('./string.js')";
    const c = \`\${require('./inside.js').d}\`;
    const e = other.require('./method.js');
    const f = require('node:fs');
    const g = require( // of its own
      './g.js',
    );`;
  expect(requiredIn(text)).toEqual([
    ['./inside.js', 'at once'],
    ['./g.js', 'at once'],
  ]);
});

test.each([
  ["const { a } = require('./a.js');", 'at once'],
  ["const a = { b: { c: require('./a.js') } };", 'at once'],
  ["if (x) { require('./a.js'); }", 'at once'],
  ["class A { static b = require('./a.js'); }", 'at once'],
  ["const a = () => require('./a.js');", 'in a function'],
  ["module.exports = { get a() { return require('./a.js'); } };", 'in a getter'],
  ["class A { b() { return require('./a.js'); } }", 'in a function'],
  ["module.exports = { get a() { return () => require('./a.js'); } };", 'in a function'],
])('%s: %s', (text, when) => {
  expect(requiredIn(text)).toEqual([['./a.js', when]]);
});

test('__dirname is a mention of its own, unless it is the name of a property', () => {
  const text = "join(__dirname, x.__dirname, { __dirname: 1 }, 'a __dirname'); // __dirname";
  const mentions = mentionsIn('a.js', text);
  expect(replaceMentions(text, mentions, () => 'HERE')).toBe(text.replace('__dirname', 'HERE'));
});

test('lines of comments are those that have nothing else, and look like comments nowhere else', () => {
  const text = `// a
/**
 * b
 */
const c = 1; // d
const e = \`
// no comment
\`;
f(
  // g
  1, /*
  h */ 2,
);
const i = /[/]\\*/.test("//");
/* j */ k();
  // l`;
  expect([...commentLines('a.js', text)]).toEqual([0, 1, 2, 3, 9, 15]);
});
