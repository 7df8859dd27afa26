'use strict';

// Dependencies point down: every #include below src/ is read.

const { allMatches, filesBelow, isThere, textOf } = require('./project-files.js');

const CPP_LAYERS = ['platform', 'segment', 'core', 'binding'];
const SYSTEM_HEADER = /^(?:sys\/|linux\/|[a-z_]+\.h$)|^cerrno$|^csignal$/;
const NODE_HEADER = /^(?:napi|node|node_api|node_api_types|js_native_api|uv|v8)(?:-inl)?\.h$/;

/**
 * The fault of `file`, below src/, that says `#include <included>` or `"included"`.
 * @returns {string | undefined}
 */
function includeFault(file, included, isQuoted) {
  const [layer] = file.split('/');
  if (NODE_HEADER.test(included)) return layer === 'binding' ? undefined : 'a header of Node';
  if (!isQuoted) {
    const mayUseSystem = layer === 'platform' || layer === 'binding';
    return SYSTEM_HEADER.test(included) && !mayUseSystem ? 'a header of the system' : undefined;
  }
  const [targetLayer] = included.split('/');
  if (!CPP_LAYERS.includes(targetLayer)) return 'not named from src/ on';
  return CPP_LAYERS.indexOf(targetLayer) > CPP_LAYERS.indexOf(layer) ? 'upwards' : undefined;
}

describe('includes below src/', () => {
  const files = filesBelow('src', ['.h', '.cc']);

  test.each(files)('%s includes only what lies below it', (file) => {
    const text = textOf(file);
    const quoted = allMatches(text, /^\s*#\s*include\s*"([^"]+)"/gm);
    const system = allMatches(text, /^\s*#\s*include\s*<([^>]+)>/gm);
    const below = file.slice('src/'.length);
    const faults = [
      ...quoted.map((name) => [name, includeFault(below, name, true)]),
      ...system.map((name) => [name, includeFault(below, name, false)]),
    ].filter(([, fault]) => fault !== undefined);
    expect(faults).toEqual([]);
  });

  test.each(files)('%s includes files that exist', (file) => {
    const quoted = allMatches(textOf(file), /^\s*#\s*include\s*"([^"]+)"/gm);
    expect(quoted.filter((name) => !isThere(`src/${name}`))).toEqual([]);
  });

  test.each([
    ['segment/segment.h', 'core/lock_table.h', true, 'upwards'],
    ['platform/clock.h', 'segment/layout.h', true, 'upwards'],
    ['core/grantable.h', 'napi.h', false, 'a header of Node'],
    ['core/grantable.h', 'unistd.h', false, 'a header of the system'],
    ['segment/segment.cc', 'sys/mman.h', false, 'a header of the system'],
    ['core/grantable.cc', 'grantable.h', true, 'not named from src/ on'],
    ['binding/addon.cc', 'core/lock_table.h', true, undefined],
    ['platform/futex.cc', 'platform/fd.h', true, undefined],
  ])('the rule itself: %s including %s is %4$s', (file, included, isQuoted, fault) => {
    expect(includeFault(file, included, isQuoted)).toBe(fault);
  });
});

describe('the source lists', () => {
  const listedIn = (list) =>
    textOf(list)
      .split('\n')
      .map((line) => line.replace(/#.*/, '').trim())
      .filter((line) => line !== '');

  test('name every .cc file below src/ once, and no other', () => {
    const listed = [...listedIn('src/sources.txt'), ...listedIn('src/binding-sources.txt')];
    expect(listed.sort()).toEqual(filesBelow('src', ['.cc']).sort());
  });

  test('keep the files of the binding in a separate list', () => {
    const isBinding = (file) => file.startsWith('src/binding/');
    expect(listedIn('src/sources.txt').filter(isBinding)).toEqual([]);
    expect(listedIn('src/binding-sources.txt').every(isBinding)).toBe(true);
  });
});
