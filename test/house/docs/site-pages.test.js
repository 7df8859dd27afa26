'use strict';

const { existsSync } = require('node:fs');
const path = require('node:path');
const { withCharts, withKnownLinks } = require('../../../scripts/docs.js');
const { ROOT, textOf } = require('../../support/markdown.js');

const present = new Set(['docs/a.md', 'docs/picture.svg', 'examples/b/README.md']);

test.each([
  ['a link to a page stays', '[a](a.md#part)', '[a](a.md#part)'],
  ['a picture stays', '![p](picture.svg)', '![p](picture.svg)'],
  ['a picture in HTML gets a dot', '<img src="picture.svg">', '<img src="./picture.svg">'],
  ['a link to another site stays', '[w](https://example.org)', '[w](https://example.org)'],
  ['a picture of another site stays', '<img src="https://x.org/a">', '<img src="https://x.org/a">'],
  ['a link inside the page stays', '[h](#heading)', '[h](#heading)'],
  ['a link to a folder goes to its page', '[b](../examples/b)', '[b](../examples/b/README.md)'],
  ['of a link to a file that is no page the text stays', '[`c.js`](../lib/c.js)', '`c.js`'],
])('%s', (_, text, expected) => {
  expect(withKnownLinks(text, 'docs/d.md', present)).toBe(expected);
});

test('the navigation names pages that exist', () => {
  const config = textOf('site/.vitepress/config.mjs');
  const links = [...config.matchAll(/(?:page\('[^']*', '|link: ')\/([\w/.-]+)'/g)].map(
    ([, name]) => name,
  );
  const guides = [...config.matchAll(/guide\('[^']*', '([\w-]+)'\)/g)].map(([, name]) => name);
  const pages = [
    ...links.filter((name) => name !== 'api/'),
    ...guides.map((name) => `docs/guides/${name}`),
  ];
  expect(pages.length).toBeGreaterThan(25);
  expect(pages.filter((name) => !existsSync(path.join(ROOT, `${name}.md`)))).toEqual([]);
});

const RESULTS = `# Results

## options

Goal 2.

|  | ns |
| --- | --- |
| plain | 1,234 (1,100–2,000) |
| signal | left out: no signal |

## machine

None.
`;

test('the site draws a chart behind the table of a scenario, from the medians', () => {
  const drawn = [];
  const page = withCharts(RESULTS, (name, results) => drawn.push([name, results]));
  expect(drawn).toEqual([['options', { plain: { ns: 1234 }, signal: {} }]]);
  expect(page).toMatch(/no signal \|\n\n!\[[^\]]+\]\(charts\/options\.svg\)\n\n## machine\n/);
});
