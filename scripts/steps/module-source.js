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

module.exports = { mentionsIn, replaceMentions };
