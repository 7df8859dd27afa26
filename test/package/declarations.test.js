'use strict';

// Each entry point declares the names that it exports, and no others.

const path = require('node:path');
const ts = require('typescript');
const { exports: entries } = require('../../package.json');

const ROOT = path.resolve(__dirname, '..', '..');

const OPTIONS = {
  lib: ['lib.es2023.d.ts', 'lib.esnext.disposable.d.ts'],
  module: ts.ModuleKind.NodeNext,
  strict: true,
  types: ['node'],
};
const MODULES = Object.keys(entries).filter((name) => entries[name].require?.default !== undefined);
const declarations = MODULES.flatMap((name) =>
  ['import', 'require'].map((kind) => ({ name, kind, file: entries[name][kind].types })),
);

let program;
beforeAll(() => {
  const files = declarations.map(({ file }) => path.join(ROOT, file));
  program = ts.createProgram(files, OPTIONS);
});

const namesOf = (symbols) => symbols.map(({ name }) => name).sort();

/** The exports of a file of declarations that are values, and the members of the default one. */
function declaredIn(file) {
  const checker = program.getTypeChecker();
  const source = program.getSourceFile(path.join(ROOT, file));
  const module = checker.getSymbolAtLocation(source);
  if (module === undefined) return { values: [], members: undefined }; // only globals
  const values = checker.getExportsOfModule(module).filter((symbol) => {
    const isAlias = (symbol.flags & ts.SymbolFlags.Alias) !== 0;
    const { flags } = isAlias ? checker.getAliasedSymbol(symbol) : symbol;
    return (flags & ts.SymbolFlags.Value) !== 0;
  });
  const whole = values.find(({ name }) => name === 'default');
  const members = whole && namesOf(checker.getTypeOfSymbol(whole).getProperties());
  return { values: namesOf(values), members };
}

test.each(declarations)('$name by $kind declares what it exports', ({ name, kind, file }) => {
  const names =
    name === './install' ? [] : Object.keys(require(path.join('holdfast', name))).sort();
  const isDefault = kind === 'import' && names.length > 0;
  expect(declaredIn(file)).toEqual({
    values: isDefault ? [...names, 'default'].sort() : names,
    members: isDefault ? names : undefined,
  });
});
