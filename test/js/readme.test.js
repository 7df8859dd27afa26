'use strict';

// The examples of the README: each is run as the module that it is, and all are type-checked.

const { execFile } = require('node:child_process');
const { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { promisify } = require('node:util');
const ts = require('typescript');

const ROOT = path.resolve(__dirname, '..', '..');
const EXAMPLES = path.join(ROOT, 'build', 'readme-examples');

const readme = readFileSync(path.join(ROOT, 'README.md'), 'utf8');
const examples = [...readme.matchAll(/^```js\n([\s\S]*?)^```$/gm)].map(([, code], index) => ({
  file: path.join(EXAMPLES, `example-${index + 1}.mjs`),
  firstLine: code.split('\n', 1)[0],
  code,
}));

beforeAll(() => {
  // Inside the package, so that `holdfast` is found by its own name.
  mkdirSync(EXAMPLES, { recursive: true });
  for (const { file, code } of examples) writeFileSync(file, code);
});
afterAll(() => rmSync(EXAMPLES, { recursive: true }));

test('the README has examples', () => {
  expect(examples.length).toBeGreaterThan(0);
});

test.each(examples)('example $# runs to its end: $firstLine', async ({ file }) => {
  const directory = mkdtempSync(path.join(os.tmpdir(), 'holdfast-readme-'));
  const env = { ...process.env, HOLDFAST_DIR: directory };
  try {
    const { stderr } = await promisify(execFile)(process.execPath, [file], { env });
    expect(stderr).toBe('');
  } finally {
    rmSync(directory, { recursive: true });
  }
});

test('the examples agree with the declarations', () => {
  const config = ts.readConfigFile(path.join(ROOT, 'tsconfig.json'), ts.sys.readFile).config;
  const { options } = ts.parseJsonConfigFileContent({ ...config, include: [] }, ts.sys, ROOT);
  const program = ts.createProgram(
    examples.map(({ file }) => file),
    { ...options, noUnusedLocals: false },
  );
  const messages = ts
    .getPreEmitDiagnostics(program)
    .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'));
  expect(messages).toEqual([]);
});
