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

/** Optional members of options that do not say what happens without them. */
function withoutDefaultIn(name, text) {
  const source = ts.createSourceFile(name, text, ts.ScriptTarget.Latest, true);
  const isOptions = (node) =>
    ts.isInterfaceDeclaration(node) && /(Options|Init)$/.test(node.name.text);
  return source.statements
    .filter(isOptions)
    .flatMap(({ members }) => [...members])
    .filter((member) => member.questionToken !== undefined)
    .filter((member) => !ts.getJSDocTags(member).some((tag) => tag.tagName.text === 'defaultValue'))
    .map((member) => member.name.getText(source));
}

test('an option without a default is found', () => {
  const text = 'interface AOptions {\n/** @defaultValue 1 */ a?: 1;\n/** B. */ b?: 1; c: 1 }';
  expect(withoutDefaultIn('a.d.ts', text)).toEqual(['b']);
});

test.each(filesBelow('types', ['.ts']))('every option in %s says its default', (name) => {
  expect(withoutDefaultIn(name, textOf(name))).toEqual([]);
});
