'use strict';

const { checkPlainWords, findForbiddenWords } = require('../../../scripts/steps/plain-words.js');

/** @param {string} text @param {string} [kind] */
const found = (text, kind = 'markdown') =>
  findForbiddenWords(text, kind).map((finding) => finding.found);

test('no page and no comment has a word or an opening that the house style excludes', () => {
  expect(checkPlainWords()).toEqual([]);
});

test.each([
  ['a paragraph', 'What waits is granted.', 'What …'],
  ['a second sentence', 'A lock is free. Who waits gets it.', 'Who …'],
  ['a heading', '# Title\n\n## Where it waits', 'Where …'],
  ['a cell', '| a | Whose lock it is |', 'Whose …'],
  ['a list item', 'Text:\n- Whoever comes first', 'Whoever …'],
  ['bold text', '**What holds.** More.', 'What …'],
])('an opening in %s is found', (_, text, opening) => {
  expect(found(text)).toContain(opening);
});

test.each([
  ['nobody', 'The lock that nobody holds.'],
  ['told', 'The holder is told.'],
  ['looks for', 'It looks for a holder.'],
  ['goes on', 'The process goes on.'],
  ['of its own', 'A queue of its own.'],
  ['but for', 'All but for the first.'],
  ['gives back', 'It gives back the lock.'],
  ['those of', 'The locks are those of a thread.'],
])('the word "%s" is found', (word, text) => {
  expect(found(text)).toEqual([word]);
});

test('a word that is broken over two lines is found', () => {
  expect(found('The process goes\non.')).toEqual(['goes\non']);
});

test.each([
  ['a quotation', '> What is told goes on.'],
  ['a code block', '```sh\n# What is told\n```'],
  ['code in a sentence', 'The message `nobody waits` is printed.'],
  ['a comment', '<!-- What is told -->'],
  ['the target of a link', 'A [link](what-is-told.md#nobody).'],
  ['a question word inside a sentence', 'The table says what the holder waits for.'],
])('%s has no finding', (_, text) => {
  expect(found(text)).toEqual([]);
});

test('a finding has its line', () => {
  expect(findForbiddenWords('Text.\n\nMore text, and nobody.', 'markdown')).toMatchObject([
    { line: 3, found: 'nobody' },
  ]);
});

test('in a source only the comments are read', () => {
  // '#' stands for '/': the check reads this file, too.
  const source = "#** What it is. *#\nconst nobody = 'told'; ## goes on\n".replaceAll('#', '/');
  expect(findForbiddenWords(source, 'source')).toMatchObject([
    { line: 1, found: 'What …' },
    { line: 2, found: 'goes on' },
  ]);
});

test('an unknown kind of file is refused', () => {
  expect(() => findForbiddenWords('', 'picture')).toThrow(TypeError);
});
