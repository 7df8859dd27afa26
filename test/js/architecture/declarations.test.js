'use strict';

const ts = require('typescript');
const { filesBelow, textOf } = require('./project-files.js');

const { SyntaxKind } = ts;
const SHOWN = new Set([
  SyntaxKind.CallSignature,
  SyntaxKind.ClassDeclaration,
  SyntaxKind.Constructor,
  SyntaxKind.ConstructSignature,
  SyntaxKind.FunctionDeclaration,
  SyntaxKind.GetAccessor,
  SyntaxKind.IndexSignature,
  SyntaxKind.InterfaceDeclaration,
  SyntaxKind.MethodDeclaration,
  SyntaxKind.MethodSignature,
  SyntaxKind.PropertyDeclaration,
  SyntaxKind.PropertySignature,
  SyntaxKind.TypeAliasDeclaration,
  SyntaxKind.VariableStatement,
]);

/** Declarations that an editor shows without a word; each overload is one. */
function silentIn(name, text) {
  const source = ts.createSourceFile(name, text, ts.ScriptTarget.Latest, true);
  const silent = [];
  const visit = (node) => {
    // A literal type is told of by what has it as its type.
    if (ts.isTypeLiteralNode(node) && !ts.isTypeAliasDeclaration(node.parent)) return;
    if (ts.isConditionalTypeNode(node)) return;
    if (SHOWN.has(node.kind) && ts.getJSDocCommentsAndTags(node).length === 0) {
      silent.push(node.getText(source).split('\n')[0]);
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return silent;
}

test('an overload without a comment is found', () => {
  const text = '/** A. */\ndeclare function a(): void;\ndeclare function a(b: { c: 1 }): void;';
  expect(silentIn('a.d.ts', text)).toEqual(['declare function a(b: { c: 1 }): void;']);
});

test.each(filesBelow('types', ['.ts', '.mts']))(
  'every declaration of %s says what it is',
  (name) => {
    expect(silentIn(name, textOf(name))).toEqual([]);
  },
);
