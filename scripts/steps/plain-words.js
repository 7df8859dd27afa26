'use strict';

// Finds the words and sentence openings that the house style excludes (CONTRIBUTING.md, "Style").
// As a program it prints each finding in the Markdown pages and in the comments of the checked
// folders, with file and line, and fails if there is a finding. With paths it counts the findings
// below each of them and does not fail: `node scripts/steps/plain-words.js lib src`.
// Not read: code, and quotations of a standard, which are lines that begin with `>`.

const { spawnSync } = require('node:child_process');
const { readFileSync } = require('node:fs');
const path = require('node:path');

const ROOT = path.join(__dirname, '..', '..');

/** The pages and folders that have to be free of findings, as arguments of `git ls-files`. */
const CHECKED = [
  'README.md',
  'CHANGELOG.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  ':(glob)docs/**/*.md',
  ':(glob)site/**/*.md',
  'types',
  'scripts',
  'src',
  'lib',
  'packaging',
  'demo',
  'examples',
  'bench',
  'test',
];

/** Words of any position. Spaces stand for white space, also a line's end. */
const FORBIDDEN_WORDS = [
  /\b(?:whoever|whom|somebody|nobody|everybody|anybody)\b/gi,
  /\b(?:told|tells|telling|hears?|heard|mended)\b/gi,
  /\blook(?:s|ed|ing)? (?:for|after)\b/gi,
  /\basks? for itself\b/gi,
  /\b(?:go|goes|going|went|gone) on\b/gi,
  /\bby (?:itself|themselves)\b/gi,
  /\bof (?:its|their) own\b/gi,
  /\b(?:as a rule|all the same|but for|out of the way)\b/gi,
  /\bat it\b/gi,
  /\b(?:gives?|gave|given|giving) back\b/gi,
  /\b(?:that|those) of\b/gi,
  /\bone that\b/gi,
].map((pattern) => new RegExp(pattern.source.replaceAll(' ', '\\s+'), pattern.flags));

const OPENING = /^(?:What|Whoever|Whose|Who|Where)\b/;

/** The gap between two sentences. A colon and a semicolon end no sentence. */
const SENTENCE_END = /(?<=[.!?]["')*_]*)\s+(?=["'(*_[]*[A-Z])/;

/** Replaces a match by spaces, so that positions and lines remain. @param {string} match */
const blank = (match) => match.replace(/[^\n]/g, ' ');

/**
 * Markdown without code, quotations (lines that begin with `>`), comments and link targets.
 * @param {string} text
 */
const proseOfMarkdown = (text) =>
  text
    .replace(/^( *)(```+|~~~+)[^\n]*\n[\s\S]*?^ *\2 *$/gm, blank)
    .replace(/^---\n[\s\S]*?^---$/m, (match, offset) => (offset === 0 ? blank(match) : match))
    .replace(/<!--[\s\S]*?-->/g, blank)
    .replace(/^ *>.*$/gm, blank)
    .replace(/`[^`\n]*`/g, (match) => match.replace(/[^\n]/g, 'x'))
    .replace(/\]\([^)\n]*\)/g, (match) => `]${' '.repeat(match.length - 1)}`);

/**
 * The comments of JavaScript, TypeScript or C++, without their markers. The rest of a string after
 * two slashes counts as a comment, too.
 * @param {string} text
 */
const proseOfSource = (text) => {
  let kept = blank(text);
  for (const { 0: comment, index } of text.matchAll(/\/\*[\s\S]*?\*\/|(?<!:)\/\/[^\n]*/g)) {
    const prose = comment
      .replace(/^\/\*+|\*\/$|^ *\*(?= |$)|^\/\/+/gm, blank)
      .replace(/`[^`\n]*`/g, (match) => 'x'.repeat(match.length))
      .replace(/@\w+(?: *\{[^}\n]*\})?(?: +\[?[\w.=]+\]?)?/g, blank);
    kept = kept.slice(0, index) + prose + kept.slice(index + prose.length);
  }
  return kept;
};

/** The kinds of files, by the ends of their names. */
const KINDS = [
  { kind: 'markdown', name: /\.md$/, proseOf: proseOfMarkdown },
  { kind: 'source', name: /\.(?:c|m)?(?:js|ts)$|\.(?:cc|h)$/, proseOf: proseOfSource },
];

/**
 * The blocks of a text in which sentences begin: list items, cells, headings and paragraphs.
 * @param {string} prose
 */
function* blocksOf(prose) {
  const breaks = /\n[ \t]*(?=\n)|\n(?=[ \t]*(?:[-*] |\d+\. |#|\||<))|\|/g;
  let start = 0;
  for (const { 0: separator, index } of prose.matchAll(breaks)) {
    yield { start, text: prose.slice(start, index) };
    start = index + separator.length;
  }
  yield { start, text: prose.slice(start) };
}

/**
 * The sentences of a text with their positions.
 * @param {string} prose
 */
function* sentencesOf(prose) {
  for (const { start, text } of blocksOf(prose)) {
    let from = 0;
    for (const sentence of text.split(SENTENCE_END)) {
      const at = text.indexOf(sentence, from);
      from = at + sentence.length;
      const lead = /^(?:\s|[-*#>"'(_[]|\d+\. )*/.exec(sentence)?.[0].length ?? 0;
      yield { at: start + at + lead, sentence: sentence.slice(lead).replace(/\s+/g, ' ').trim() };
    }
  }
}

/**
 * The findings in one text: its forbidden words and the sentences with a forbidden opening.
 * @param {string} text
 * @param {string} kind 'markdown' or 'source'.
 * @returns {{ line: number, found: string, sentence: string }[]} In the order of their lines.
 */
const findForbiddenWords = (text, kind) => {
  const prose = KINDS.find((each) => each.kind === kind)?.proseOf(text);
  if (prose === undefined) throw new TypeError(`Unknown kind of file: '${kind}'`);
  const lineAt = (/** @type {number} */ at) => prose.slice(0, at).split('\n').length;
  const findings = [];
  for (const { at, sentence } of sentencesOf(prose)) {
    const opening = OPENING.exec(sentence);
    if (opening) findings.push({ line: lineAt(at), found: `${opening[0]} …`, sentence });
  }
  for (const pattern of FORBIDDEN_WORDS) {
    for (const { 0: found, index } of prose.matchAll(pattern)) {
      const sentence = prose.slice(Math.max(0, index - 40), index + 40).replace(/\s+/g, ' ');
      findings.push({ line: lineAt(index), found, sentence: sentence.trim() });
    }
  }
  return findings.sort((a, b) => a.line - b.line);
};

/**
 * The files of git below some paths that have a kind.
 * @param {string[]} paths
 */
const listFiles = (paths) => {
  const args = ['ls-files', '--cached', '--others', '--exclude-standard', '-z', '--'];
  const { status, stdout, stderr } = spawnSync('git', [...args, ...paths], {
    cwd: ROOT,
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`git ls-files failed: ${stderr}`);
  return stdout.split('\0').flatMap((file) => {
    const kind = KINDS.find(({ name }) => name.test(file))?.kind;
    return kind === undefined ? [] : [{ file, kind }];
  });
};

/**
 * The findings in all files below some paths.
 * @param {string[]} [paths] The checked pages and folders if they are left out.
 */
const checkPlainWords = (paths = CHECKED) =>
  listFiles(paths).flatMap(({ file, kind }) =>
    findForbiddenWords(readFileSync(path.join(ROOT, file), 'utf8'), kind).map((finding) => ({
      file,
      ...finding,
    })),
  );

/**
 * Prints the findings in the checked pages and folders.
 * @returns {boolean} Whether there is none.
 */
const reportPlainWords = () => {
  const findings = checkPlainWords();
  for (const { file, line, found, sentence } of findings) {
    console.log(`${file}:${line}: "${found}" in: ${sentence}`);
  }
  console.log(
    `${findings.length} forbidden words in pages and comments (scripts/steps/plain-words.js)`,
  );
  return findings.length === 0;
};

/**
 * Prints the number of findings below each path.
 * @param {string[]} paths
 */
const countPlainWords = (paths) => {
  for (const each of paths) {
    const findings = checkPlainWords([each]);
    const openings = findings.filter(({ found }) => found.endsWith('…')).length;
    console.log(`${each}: ${openings} openings, ${findings.length - openings} words`);
  }
};

module.exports = { checkPlainWords, findForbiddenWords, reportPlainWords };

if (require.main === module) {
  const paths = process.argv.slice(2);
  if (paths.length > 0) countPlainWords(paths);
  else process.exitCode = reportPlainWords() ? 0 : 1;
}
