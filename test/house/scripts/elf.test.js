'use strict';

// The allowed needs of a delivered binary: scripts/prebuilds.js, on readelf's output for real ones.

const { faultsOf, needsOf } = require('../../../scripts/prebuilds.js');

const HEADER = `ELF Header:
  Class:                             ELF64
  Machine:                           Advanced Micro Devices X86-64
`;
const DYNAMIC = `
Dynamic section at offset 0x6edd8 contains 29 entries:
 0x0000000000000001 (NEEDED)             Shared library: [libpthread.so.0]
 0x0000000000000001 (NEEDED)             Shared library: [libc.so.6]
 0x0000000000000001 (NEEDED)             Shared library: [ld-linux-x86-64.so.2]
 0x000000000000001e (FLAGS)              BIND_NOW
 0x000000006ffffffb (FLAGS_1)            Flags: NOW NODELETE
`;
const SYMBOLS = `
Symbol table '.dynsym' contains 5 entries:
   Num:    Value          Size Type    Bind   Vis      Ndx Name
     1: 0000000000000000     0 NOTYPE  WEAK   DEFAULT  UND __gmon_start__
     2: 0000000000000000     0 FUNC    GLOBAL DEFAULT  UND read@GLIBC_2.2.5 (2)
     3: 0000000000000000     0 FUNC    GLOBAL DEFAULT  UND getrandom@GLIBC_2.25 (3)
   159: 0000000000045c80     6 FUNC    GLOBAL DEFAULT   15 node_api_module_get_api_version_v1
   160: 0000000000045c90  2034 FUNC    GLOBAL DEFAULT   15 napi_register_module_v1
`;
const OWN_SYMBOLS = `
Symbol table '.symtab' contains 2 entries:
   Num:    Value          Size Type    Bind   Vis      Ndx Name
    82: 0000000000000000     8 TLS     LOCAL  DEFAULT   17 known_mark
`;
const GOOD = HEADER + DYNAMIC + SYMBOLS + OWN_SYMBOLS;
const X64_GLIBC = { machine: 'X86-64', isGlibc: true };

const faults = (text, target = X64_GLIBC) => faultsOf(needsOf(text), target, '2.28');

test('a binary that needs glibc 2.25 is good for glibc 2.28', () => {
  expect(needsOf(GOOD)).toMatchObject({ glibc: '2.25', variables: ['known_mark'] });
  expect(faults(GOOD)).toEqual([]);
});

test.each([
  ['a newer glibc', GOOD.replace('2.25', '2.34'), 'it needs glibc 2.34'],
  ['a standard library', GOOD.replace('libpthread.so.0', 'libstdc++.so.6'), 'libstdc++.so.6'],
  ['musl', GOOD.replace('libc.so.6', 'libc.so'), 'it needs libpthread.so.0, libc.so'],
  ['another processor', GOOD.replace(/Machine:.*/, 'Machine: AArch64'), 'it is for AArch64'],
  ['static thread-local storage', GOOD.replace('BIND_NOW', 'BIND_NOW STATIC_TLS'), 'thread-local'],
])('a binary for x64 and glibc 2.28 that needs %s is refused', (_, text, fault) => {
  expect(faults(text)).toEqual([expect.stringContaining(fault)]);
});

test('a binary that exports more than Node calls is refused', () => {
  const line = '   161: 0000000000045c90    34 FUNC    GLOBAL DEFAULT   15 _Znwm\n';
  expect(faults(GOOD.replace(OWN_SYMBOLS, line + OWN_SYMBOLS))).toEqual([
    expect.stringMatching(/exports .*_Znwm/),
  ]);
});

test('a binary with its own errno is refused', () => {
  expect(faults(GOOD.replace('known_mark', 'errno'))).toEqual(['it has its own errno']);
});

test('glibc is not musl', () => {
  expect(faults(GOOD, { machine: 'X86-64', isGlibc: false })).toHaveLength(1);
});
