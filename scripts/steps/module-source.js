'use strict';

// What a CommonJS module requires, and where: read from its syntax tree.

const ts = require('typescript');

/**
 * @typedef {object} Mention  a part of the text that does not stay as it is in a bundle
 * @property {number} start
 * @property {number} end
 * @property {string} [required]  the relative name in a `require()`; without one it is `__dirname`
 * @property {'at once' | 'in a getter' | 'in a function'} when  it runs
 */

/** @param {import('typescript').Node} node */
function requiredName(node) {
  if (!ts.isCallExpression(node) || node.arguments.length !== 1) return undefined;
  const [argument] = node.arguments;
  const isRequire = ts.isIdentifier(node.expression) && node.expression.text === 'require';
  if (!isRequire || !ts.isStringLiteral(argument)) return undefined;
  return argument.text.startsWith('.') ? argument.text : undefined;
}

/**
 * A property of that name is none; comments are not in the tree.
 * @param {import('typescript').Node} node
 */
const isDirname = (node) =>
  ts.isIdentifier(node) &&
  node.text === '__dirname' &&
  /** @type {{ name?: unknown }} */ (node.parent).name !== node;

/**
 * @param {import('typescript').Node} node
 * @param {Mention['when']} outside
 * @returns {Mention['when']}
 */
function whenInside(node, outside) {
  if (!ts.isFunctionLike(node)) return outside;
  return outside === 'at once' && ts.isGetAccessor(node) ? 'in a getter' : 'in a function';
}

/**
 * @param {string} name  of the file
 * @param {string} text
 * @returns {Mention[]} in the order of the text
 */
function mentionsIn(name, text) {
  const source = ts.createSourceFile(name, text, ts.ScriptTarget.Latest, true, ts.ScriptKind.JS);
  /** @type {Mention[]} */
  const mentions = [];
  /**
   * @param {import('typescript').Node} node
   * @param {Mention['when']} when
   */
  const visit = (node, when) => {
    const required = requiredName(node);
    if (required !== undefined || isDirname(node)) {
      mentions.push({ start: node.getStart(source), end: node.end, required, when });
      return;
    }
    const inside = whenInside(node, when);
    ts.forEachChild(node, (child) => visit(child, inside));
  };
  visit(source, 'at once');
  return mentions;
}

/**
 * @param {string} text
 * @param {Mention[]} mentions
 * @param {(mention: Mention) => string} replacement
 */
function replaceMentions(text, mentions, replacement) {
  let [result, from] = ['', 0];
  for (const mention of mentions) {
    result += text.slice(from, mention.start) + replacement(mention);
    from = mention.end;
  }
  return result + text.slice(from);
}

/**
 * @param {string} text
 * @param {import('typescript').CommentRange} comment
 */
function isAlone(text, { pos, end }) {
  const before = text.slice(text.lastIndexOf('\n', pos - 1) + 1, pos);
  const after = text.slice(end).split('\n', 1)[0];
  return `${before}${after}`.trim() === '';
}

/**
 * The lines that have a comment and nothing else: half of the text that Node would read.
 * @param {string} name  of the file
 * @param {string} text
 * @returns {Set<number>} from 0 on
 */
function commentLines(name, text) {
  const source = ts.createSourceFile(name, text, ts.ScriptTarget.Latest, true, ts.ScriptKind.JS);
  const lineAt = (/** @type {number} */ at) => source.getLineAndCharacterOfPosition(at).line;
  /** @type {Set<number>} */
  const lines = new Set();
  const visit = (/** @type {import('typescript').Node} */ node) => {
    if (ts.isJSDoc(node)) return;
    const children = node.getChildren(source);
    children.forEach(visit);
    if (children.length > 0 || ts.isTemplateMiddleOrTemplateTail(node)) return;
    for (const comment of ts.getLeadingCommentRanges(text, node.pos) ?? []) {
      if (!isAlone(text, comment)) continue;
      const [first, last] = [lineAt(comment.pos), lineAt(comment.end)];
      for (let line = first; line <= last; line += 1) lines.add(line);
    }
  };
  visit(source);
  return lines;
}

module.exports = { commentLines, mentionsIn, replaceMentions };
