'use strict';

const { checkPlainWords, findForbiddenWords } = require('../../../scripts/steps/plain-words.js');

/** A text with findings on purpose: the check skips templates with this tag. */
const quoted = ([/** @type {string} */ text]) => text;

/** @param {string} text @param {string} [kind] */
const found = (text, kind = 'markdown') =>
  findForbiddenWords(text, kind).map((finding) => finding.found);

test('no page, comment or text has a word or an opening that the house style excludes', () => {
  expect(checkPlainWords()).toEqual([]);
});

test.each([
  ['a paragraph', quoted`What waits is granted.`, 'What'],
  ['a second sentence', quoted`A lock is free. Who waits gets it.`, 'Who'],
  ['a heading', quoted`# Title\n\n## Where it waits`, 'Where'],
  ['a cell', quoted`| a | Whose lock it is |`, 'Whose'],
  ['a list item', quoted`Text:\n- Whoever comes first`, 'Whoever'],
  ['bold text', quoted`**What holds.** More.`, 'What'],
])('an opening in %s is found', (_, text, opening) => {
  expect(found(text)).toContain(`${opening} …`);
});

test.each([
  ['nobody', quoted`The lock that nobody holds.`],
  ['damaged', quoted`A damaged record.`],
  ['storm', quoted`A storm of deaths.`],
  ['told', quoted`The holder is told.`],
  [quoted`looks for`, quoted`It looks for a holder.`],
  [quoted`goes on`, quoted`The process goes on.`],
  [quoted`of its own`, quoted`A queue of its own.`],
  [quoted`but for`, quoted`All but for the first.`],
  [quoted`gives back`, quoted`It gives back the lock.`],
  [quoted`those of`, quoted`The locks are those of a thread.`],
])('the word "%s" is found', (word, text) => {
  expect(found(text)).toEqual([word]);
});

test('a sentence of more than 25 words is found in a page', () => {
  const sentence = (/** @type {number} */ words) => `A${' word'.repeat(words - 1)}.`;
  expect(found(`${sentence(25)} ${sentence(26)}`)).toEqual(['26 words']);
  expect(found(`// ${sentence(26)}`, 'script')).toEqual([]);
});

test('a word that is broken over two lines is found', () => {
  expect(found(quoted`The process goes\non.`)).toEqual([quoted`goes\non`]);
});

test.each([
  ['a quotation', quoted`> What is told goes on.`],
  ['a code block', quoted`\`\`\`sh\n# What is told\n\`\`\``],
  ['code in a sentence', quoted`The message \`nobody waits\` is printed.`],
  ['a comment', quoted`<!-- What is told -->`],
  ['the target of a link', quoted`A [link](what-is-told.md#nobody).`],
  ['an interrogative inside a sentence', 'The table says what the holder waits for.'],
])('%s has no finding', (_, text) => {
  expect(found(text)).toEqual([]);
});

test('a finding has its line', () => {
  expect(findForbiddenWords(quoted`Text.\n\nMore text, and nobody.`, 'markdown')).toMatchObject([
    { line: 3, found: 'nobody' },
  ]);
});

test.each([
  ['a comment', 'script', quoted`/** What it is. */`, quoted`What …`],
  ['a message', 'script', quoted`throw new Error('The holder is told')`, 'told'],
  ['the title of a test', 'script', quoted`test("nobody waits", () => {})`, 'nobody'],
  ['a message with values', 'script', quoted`fail(\`\${name} was told of \${lost}\`)`, 'told'],
  ['a message inside a value', 'script', quoted`a(\`\${b ? 'is told' : ''}\`)`, 'told'],
  ['a message in two literals', 'script', quoted`fail('it goes ' + \n 'on')`, quoted`goes on`],
  ['an element of a page', 'script', quoted`html\`<h2>Who waits</h2>\``, quoted`Who …`],
  ['a comment', 'c++', quoted`int a = 0;  // Where it stands.`, quoted`Where …`],
  ['a message', 'c++', quoted`Fail("a shard of nobody", 'a', 1'000);`, 'nobody'],
  ['a message in two literals', 'c++', quoted`Fail("it goes "\n "on");`, quoted`goes on`],
])('%s of a %s is read', (_, kind, text, word) => {
  expect(found(text, kind).map((each) => each.replace(/\s+/g, ' '))).toEqual([word]);
});

test.each([
  ['a variable', 'script', quoted`const wasTold = true;`, 'Told'],
  ['a constant', 'script', quoted`const MAX_LOOKS = 3;`, 'LOOKS'],
  ['a private member', 'script', quoted`class A { #heard = 0; }`, 'heard'],
  ['a name in a template', 'script', quoted`fail(\`\${askedAt} ms\`)`, 'asked'],
  ['a function', 'c++', quoted`void AskForExtent();`, 'Ask'],
  ['a constant', 'c++', quoted`constexpr int kLooks = 20;`, 'Looks'],
  ['a member', 'c++', quoted`uint64_t looked_at_ = 0;`, 'looked'],
])('the word in the name of %s of a %s is found', (_, kind, text, part) => {
  expect(found(text, kind)).toEqual([part]);
});

test.each([
  ['a name in a string', 'script', quoted`on('told', listener)`],
  ['a part of another word', 'script', quoted`replaceTask(shears, overlooked, basket)`],
  ['the member of the API', 'script', quoted`const { place } = await locks.inspect();`],
  ['a name of the C++ library', 'c++', quoted`std::optional<int> a(std::in_place, 1);`],
  ['code in a message', 'script', quoted`fail('set \`nobody waits\` first')`],
  ['a comment inside a string', 'script', quoted`const url = 'told://nobody'`],
  ['a regular expression', 'script', quoted`const word = /nobody is told/;`],
  ['a quotation', 'script', quoted`quoted\`nobody is told\``],
  ['a name in a string', 'c++', quoted`Find("told", reader);`],
  ['a raw string without a space', 'c++', quoted`R"(told)"`],
])('%s of a %s has no finding', (_, kind, text) => {
  expect(found(text, kind)).toEqual([]);
});

test('a finding after a template with several lines has its line', () => {
  const text = quoted`a(\`\${[\n1,\n2]} locks\`);\n// nobody`;
  expect(findForbiddenWords(text, 'script')).toMatchObject([{ line: 4, found: 'nobody' }]);
});

test('an unknown kind of file is refused', () => {
  expect(() => findForbiddenWords('', 'picture')).toThrow(TypeError);
});
