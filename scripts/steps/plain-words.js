'use strict';

// Finds the words, sentence openings and long sentences of pages that the house style excludes
// (CONTRIBUTING.md, "Style").
// As a program it prints each finding in the Markdown pages, comments and texts of the checked
// folders, with file and line. The program fails if there is a finding. With paths it counts the
// findings below each of them and does not fail: `node scripts/steps/plain-words.js lib src`.
// A text is a string or template with a space between two words: a message, a help, a title of a
// test. A string without one is a name: of a key, a variable, a channel, a word of a protocol.
// In code, the names of variables, functions, members and types are read.
// Not read: names in strings, and quotations. A quotation is a line of Markdown that begins with
// `>`, or a template with the tag `quoted`.

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
  /\b(?:told|tells|telling|hears?|heard|mended|damaged?|damages|storms?)\b/gi,
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

/** Parts of names in code: `wasTold`, `told_at`, `MAX_TOLD`, `kTold`. */
const FORBIDDEN_PARTS = [
  ...['told', 'tells?', 'hears?', 'heard', 'mended', 'looks?', 'looked', 'looking'],
  ...['asks?', 'asked', 'asking', 'thief', 'thieves', 'thefts?', 'robbed', 'vandals?'],
  ...['scribbles?', 'scribblers?', 'keepers?', 'intakes?', 'reapers?', 'comebacks?', 'places?'],
  ...['damaged?', 'damages', 'storms?'],
  ...['somebody', 'anybody', 'everybody', 'whoever', 'whom'],
].join('|');

/** A name that may have such a part, and a part that is one. */
const SUSPECT_NAME = new RegExp(FORBIDDEN_PARTS, 'i');
const FORBIDDEN_PART = new RegExp(`^(?:${FORBIDDEN_PARTS})$`, 'i');
const GAP_OF_PARTS = /(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|[\W\d_]+/;

/** The member `place` of the API, names of the C++ library, and a process that runs "in place". */
const ALLOWED_NAMES = new Set(['place', 'in_place', 'in_place_t', 'inPlace']);

const OPENING = /^(?:What|Whoever|Whose|Who|Where)\b/;

/** The most words of a sentence of a page. */
const MAX_WORDS = 25;

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

/** Stands at both ends of a text. */
const TEXT_END = '\0';

/** Stands for an escaped end of a line in a text. */
const LINE_END = '\v';

const IS_TEXT = /\S\s+\S/;

/**
 * A string, character, regular expression or template, and the expressions in a template.
 * @typedef {{ start: number, end: number, isText: boolean, holes?: number[][] }} Literal
 */

/**
 * A name in code.
 * @typedef {{ start: number, name: string }} Name
 */

/**
 * The literals of JavaScript or TypeScript, where a template comes before the literals in it, and
 * the names.
 * @param {string} text
 */
const scanScript = (text) => {
  // Here, because scripts/check.js is loaded before `npm ci`.
  const ts = require('typescript');
  const source = ts.createSourceFile('source.ts', text, ts.ScriptTarget.Latest);
  /** @type {Literal[]} */
  const literals = [];
  /** @type {Name[]} */
  const names = [];
  /** @param {import('typescript').Node} node @param {boolean} isQuoted */
  const visit = (node, isQuoted) => {
    const start = node.getStart(source);
    if (ts.isTemplateExpression(node)) {
      const holes = node.templateSpans.map((span) => [
        span.expression.pos - 2,
        span.literal.getStart(source) + 1,
      ]);
      literals.push({ start, end: node.end, isText: !isQuoted, holes });
    } else if (ts.isStringLiteralLike(node)) {
      literals.push({ start, end: node.end, isText: !isQuoted });
    } else if (ts.isRegularExpressionLiteral(node)) {
      literals.push({ start, end: node.end, isText: false });
    } else if (ts.isIdentifier(node) || ts.isPrivateIdentifier(node)) {
      names.push({ start, name: node.text });
    }
    const isQuotation =
      ts.isTaggedTemplateExpression(node) && node.tag.getText(source) === 'quoted';
    ts.forEachChild(node, (child) => visit(child, isQuotation));
  };
  visit(source, false);
  return { literals, names };
};

const CPP_COMMENT_OR_LITERAL =
  /\/\/[^\n]*|\/\*[\s\S]*?\*\/|R"(\w*)\([\s\S]*?\)\1"|"(?:\\.|[^"\\\n])*"|\b'|'(?:\\.|[^'\\\n])+'/g;

/**
 * The literals and the names of C++.
 * @param {string} text
 * @returns {{ literals: Literal[], names: Name[] }}
 */
const scanCpp = (text) => {
  const literals = [...text.matchAll(CPP_COMMENT_OR_LITERAL)]
    .filter(([token]) => token.endsWith('"') || (token.length > 2 && token.endsWith("'")))
    .filter(([token]) => !token.startsWith('/'))
    .map(({ 0: token, index }) => ({
      start: index,
      end: index + token.length,
      isText: token.endsWith('"'),
    }));
  const code = text.replace(CPP_COMMENT_OR_LITERAL, blank);
  const names = [...code.matchAll(/[A-Za-z_]\w*/g)].map(({ 0: name, index }) => ({
    start: index,
    name,
  }));
  return { literals, names };
};

/** @param {string} text @param {number} start @param {string} part */
const put = (text, start, part) => text.slice(0, start) + part + text.slice(start + part.length);

/**
 * The prose of a literal, without code and escapes, between two marks of a text's end.
 * @param {string} source
 * @param {Literal} literal
 */
const proseOfLiteral = (source, { start, end, holes = [] }) => {
  let prose = source.slice(start, end);
  for (const [from, to] of holes) {
    prose = put(prose, from - start, source.slice(from, to).replace(/[^\n]/g, 'x'));
  }
  prose = prose
    .slice(1, -1)
    .replace(/\\`[^`\n]*\\`|`[^`\n]*`/g, (match) => 'x'.repeat(match.length))
    .replace(/\\(.)/g, (_, escaped) => ` ${escaped === 'n' ? LINE_END : escaped}`);
  return TEXT_END + prose + TEXT_END;
};

/**
 * The comments and texts of a source, without their markers. Literals with only white space or a
 * plus between them are one text.
 * @param {string} text
 * @param {Literal[]} literals
 */
const proseOfSource = (text, literals) => {
  let code = text;
  for (const { start, end } of literals) code = put(code, start, blank(text.slice(start, end)));
  let kept = blank(text);
  for (const { 0: comment, index } of code.matchAll(/\/\*[\s\S]*?\*\/|\/\/[^\n]*/g)) {
    const prose = comment
      .replace(/^\/\*+|\*\/$|^ *\*(?= |$)|^\/\/+/gm, blank)
      .replace(/`[^`\n]*`/g, (match) => 'x'.repeat(match.length))
      .replace(/@\w+(?: *\{[^}\n]*\})?(?: +\[?[\w.=]+\]?)?/g, blank);
    kept = put(kept, index, prose);
  }
  /** @type {{ start: number, end: number, prose: string }[]} */
  const texts = [];
  for (const literal of literals.filter(({ isText }) => isText)) {
    const { start, end } = literal;
    const prose = proseOfLiteral(text, literal);
    const last = texts.at(-1);
    const gap = text.slice(last?.end, start);
    if (last !== undefined && /^\s*\+?\s*$/.test(gap)) {
      last.prose = `${last.prose.slice(0, -1)} ${blank(gap)} ${prose.slice(1)}`;
      last.end = end;
    } else texts.push({ start, end, prose });
  }
  for (const { start, prose } of texts) if (IS_TEXT.test(prose)) kept = put(kept, start, prose);
  return kept;
};

/** The kinds of files, by the ends of their names. */
const KINDS = [
  { kind: 'markdown', name: /\.(?:md|html)$/, scan: undefined },
  { kind: 'script', name: /\.[cm]?[jt]s$/, scan: scanScript },
  { kind: 'c++', name: /\.(?:cc?|h|pml)$/, scan: scanCpp },
];

/** @param {string} text @param {string} kind */
const read = (text, kind) => {
  const found = KINDS.find((each) => each.kind === kind);
  if (found === undefined) throw new TypeError(`Unknown kind of file: '${kind}'`);
  if (found.scan === undefined) return { prose: proseOfMarkdown(text), names: [] };
  const { literals, names } = found.scan(text);
  return { prose: proseOfSource(text, literals), names };
};

/**
 * The blocks of a text in which sentences begin: list items, cells, headings and paragraphs.
 * @param {string} prose
 */
function* blocksOf(prose) {
  const breaks = /[\0\v]|\n[ \t]*(?=\n)|\n(?=[ \t]*(?:[-*] |\d+\. |#|\||<))|\|/g;
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
      const lead = /^(?:\s|[-*#>"'(_[]|<[^>\n]*>|\d+\. )*/.exec(sentence)?.[0].length ?? 0;
      yield { at: start + at + lead, sentence: sentence.slice(lead).replace(/\s+/g, ' ').trim() };
    }
  }
}

/**
 * The names with a forbidden part.
 * @param {Name[]} names
 */
const findForbiddenNames = (names) =>
  names.flatMap(({ start, name }) => {
    if (!SUSPECT_NAME.test(name) || ALLOWED_NAMES.has(name)) return [];
    const part = name.split(GAP_OF_PARTS).find((each) => FORBIDDEN_PART.test(each));
    return part === undefined ? [] : [{ start, found: part, sentence: name }];
  });

/**
 * The findings in one text: its forbidden words and names, the sentences with a forbidden opening,
 * and the sentences of a page that are too long.
 * @param {string} text
 * @param {string} kind 'markdown', 'script' or 'c++'.
 * @returns {{ line: number, found: string, sentence: string }[]} In the order of their lines.
 */
const findForbiddenWords = (text, kind) => {
  const { prose, names } = read(text, kind);
  const lineAt = (/** @type {number} */ at) => prose.slice(0, at).split('\n').length;
  const findings = [];
  for (const { at, sentence } of sentencesOf(prose)) {
    const opening = OPENING.exec(sentence);
    if (opening) findings.push({ line: lineAt(at), found: `${opening[0]} …`, sentence });
    const words = sentence.split(' ').filter((it) => /\w/.test(it)).length;
    if (kind === 'markdown' && words > MAX_WORDS) {
      findings.push({ line: lineAt(at), found: `${words} words`, sentence });
    }
  }
  for (const pattern of FORBIDDEN_WORDS) {
    for (const { 0: found, index } of prose.matchAll(pattern)) {
      const sentence = prose.slice(Math.max(0, index - 40), index + 40).replace(/[\s\0]+/g, ' ');
      findings.push({ line: lineAt(index), found, sentence: sentence.trim() });
    }
  }
  for (const { start, ...finding } of findForbiddenNames(names)) {
    findings.push({ line: lineAt(start), ...finding });
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
    `${findings.length} forbidden words in pages, comments, texts and names ` +
      '(scripts/steps/plain-words.js)',
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
