'use strict';

// Node-API fails at any time where an environment ends. Nothing in src/binding may end the process
// then (decision 0023): the text of every file is read.

const { filesBelow, textOf } = require('./project-files.js');

const REGISTRATION = 'src/binding/addon.cc'; // may use node-addon-api, to register the addon

const withoutComments = (text) => text.replace(/\/\/.*|"(?:\\.|[^"\\\n])*"/g, '');

/** The classes of node-addon-api in `text`; they end the process when a call fails. */
function classesUsed(file, text) {
  const used = new Set(withoutComments(text).match(/\bNapi::\w+(?:::\w+)?/g));
  if (/#\s*include\s*<napi\.h>/.test(text)) used.add('<napi.h>');
  if (file !== REGISTRATION) return [...used];
  return [...used].filter((name) => !['<napi.h>', 'Napi::Env', 'Napi::Object'].includes(name));
}

/** Calls of Node-API whose status is not read, without a mark that this is on purpose. */
function uncheckedCalls(text) {
  // A statement that begins with the call: everything else reads what it returns.
  const statements = withoutComments(text)
    .replaceAll('(void)', 'void ')
    .matchAll(/(?:[;{})]|\belse)\s*((?:napi|node_api)_\w+)\(/g);
  return [...statements].map((match) => match[1]);
}

/** In it napi_detach_arraybuffer, which ends the process where JavaScript was terminated. */
const CHECKS_BEFORE_DETACHING = 'src/binding/js_values.cc';

/** Calls of Node-API that end the process. */
function fatalCalls(file, text) {
  const calls = withoutComments(text).match(/\bnapi_(?:fatal_error|detach_arraybuffer)\b/g) ?? [];
  if (file !== CHECKS_BEFORE_DETACHING) return calls;
  return calls.filter((name) => name !== 'napi_detach_arraybuffer');
}

describe('src/binding', () => {
  const files = filesBelow('src/binding', ['.h', '.cc']);

  test.each(files)('%s uses no class that ends the process where Node-API fails', (file) => {
    expect(classesUsed(file, textOf(file))).toEqual([]);
  });

  test.each(files)('%s reads the status of every call of Node-API, or says (void)', (file) => {
    expect(uncheckedCalls(textOf(file))).toEqual([]);
    expect(fatalCalls(file, textOf(file))).toEqual([]);
  });
});

describe('the rules themselves', () => {
  test.each([
    ['src/binding/a.cc', '(void)napi_detach_arraybuffer(env, view);', ['napi_detach_arraybuffer']],
    [CHECKS_BEFORE_DETACHING, '(void)napi_detach_arraybuffer(env, buffer);', []],
    [CHECKS_BEFORE_DETACHING, 'napi_fatal_error(a, b, c, d);', ['napi_fatal_error']],
  ])('fatal calls in %s, %j: %j', (file, text, calls) => {
    expect(fatalCalls(file, text)).toEqual(calls);
  });

  test.each([
    ['src/binding/a.cc', '#include <napi.h>\n', ['<napi.h>']],
    ['src/binding/a.cc', 'Napi::Error::New(env, text);', ['Napi::Error::New']],
    ['src/binding/a.cc', 'value.As<Napi::String>().Utf8Value();', ['Napi::String']],
    ['src/binding/a.cc', '// Napi::Error would end the process', []],
    [REGISTRATION, '#include <napi.h>\nNapi::Object Init(Napi::Env env);', []],
    [REGISTRATION, 'Napi::Object::New(env);', ['Napi::Object::New']],
    [REGISTRATION, 'exports.Set("a", Napi::Number::New(env, 1));', ['Napi::Number::New']],
  ])('classes in %s, %j: %j', (file, text, used) => {
    expect(classesUsed(file, text)).toEqual(used);
  });

  test.each([
    ['{\n  napi_throw(env, error);', ['napi_throw']],
    ['if (failed) napi_throw(env, error);', ['napi_throw']],
    ['else napi_throw(env, error);', ['napi_throw']],
    ['(void)napi_throw(env, error);', []],
    ['return napi_get_null(env, &result) == napi_ok;', []],
    ['if (napi_get_null(env, &result) != napi_ok) {', []],
    ['a && napi_get_null(env, &result) == napi_ok;', []],
    ['a();\n// napi_throw(env, error)\nb();', []],
  ])('calls in %j: %j', (text, calls) => {
    expect(uncheckedCalls(text)).toEqual(calls);
  });
});
