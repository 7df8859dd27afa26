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
    // The declaration that has a literal type as its type documents it.
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

/** Numeric options without a unit, and options without a word of what a wrong value leads to. */
function withoutUnitOrErrorIn(name, text) {
  const source = ts.createSourceFile(name, text, ts.ScriptTarget.Latest, true);
  const docOf = (node) =>
    ts
      .getJSDocCommentsAndTags(node)
      .map((comment) => comment.getText(source))
      .join(' ');
  const isOptions = (node) =>
    ts.isInterfaceDeclaration(node) && /(Options|Init)$/.test(node.name.text);
  return source.statements.filter(isOptions).flatMap((options) =>
    options.members.filter(ts.isPropertySignature).flatMap((member) => {
      const doc = docOf(member);
      const faults = [];
      const isNumber = /\bnumber\b/.test(member.type?.getText(source) ?? '');
      if (isNumber && !/millisecond|second|byte|number of|Number of/.test(doc)) faults.push('unit');
      const isSimple = /^(boolean|true|false)\b/.test(member.type?.getText(source) ?? '');
      if (!isSimple && !/Error/.test(doc + docOf(options))) faults.push('error');
      return faults.map((fault) => `${options.name.text}.${member.name.getText(source)}: ${fault}`);
    }),
  );
}

test('an option without a unit or without an error is found', () => {
  const text =
    'interface AOptions {\n/** A. */ a?: number;\n/** Milliseconds, or a TypeError. */ b: 1 }';
  expect(withoutUnitOrErrorIn('a.d.ts', text)).toEqual(['AOptions.a: unit', 'AOptions.a: error']);
});

// Options of a backend are internal: what calls it has checked them.
const PUBLIC = filesBelow('types', ['.ts']).filter((name) => !name.endsWith('backend.d.ts'));
test.each(PUBLIC)('every option in %s says its unit and its error', (name) => {
  expect(withoutUnitOrErrorIn(name, textOf(name))).toEqual([]);
});
