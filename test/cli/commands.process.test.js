'use strict';

const { spawnSync } = require('node:child_process');
const { existsSync, readdirSync, readFileSync, symlinkSync } = require('node:fs');
const path = require('node:path');
const { gunzipSync } = require('node:zlib');
const { MEANINGS } = require('../../lib/cli/exit-status.js');
const { createProgram } = require('../../lib/cli/full-program.js');
const { manualPage } = require('../../scripts/steps/bundle.js');
const { CommandLine, PROGRAM } = require('../support/cli.js');
const { untilEqual } = require('../support/process-bucket.js');

const hasGroff = spawnSync('groff', ['--version']).status === 0;

let cli;
beforeEach(() => {
  cli = new CommandLine();
});
afterEach(() => cli.close());

/** Resolves when so many requests wait. */
const waiting = (count) => untilEqual(async () => (await cli.locks.query()).pending.length, count);

test.each([
  ['lib', PROGRAM],
  ['dist', path.join(__dirname, '..', '..', 'dist', 'cli.js')],
])('by a link, which Node is to keep: the program of %s', (_folder, program) => {
  const link = path.join(cli.directory, 'holdfast');
  symlinkSync(program, link);
  const env = { ...process.env, NODE_PRESERVE_SYMLINKS_MAIN: '1', HOLDFAST_DIR: cli.directory };
  for (const words of [['exec', 'a', '--', 'echo', 'ran'], ['--version']]) {
    const { status, stderr } = spawnSync(process.execPath, [link, ...words], { env });
    expect([status, String(stderr)]).toEqual([0, '']);
  }
});

describe('ls', () => {
  test('shows holders before waiters, with process, label and command', async () => {
    const holder = await cli.hold('a lock', '--label', 'nightly');
    const waiter = cli.start(['exec', 'a lock', 'true']);
    await waiting(1);
    const { stdout, status } = cli.run(['ls']);
    const [head, first, second, ...rest] = stdout.trimEnd().split('\n');
    expect(head).toMatch(/^NAME +STATE +MODE +FOR +PID +THREAD +LABEL +COMMAND$/);
    expect(first).toMatch(/^a lock +held +exclusive .* main +nightly +node /);
    expect(first).toContain(` ${holder.pid} `);
    expect(second).toMatch(/^a lock +waiting +exclusive /);
    expect(second).toContain(` ${waiter.pid} `);
    expect(rest).toEqual([]);
    expect(status).toBe(0);
  });

  test('shows a priority, and how often a waiter was overtaken', async () => {
    const { locks } = cli;
    await cli.holdHere('a lock', { priority: 'user-blocking' });
    void locks.request('a lock', { priority: 'background' }, () => {}).catch(() => {});
    void locks.request('a lock', () => {}).catch(() => {});
    const [, holder, plain, low] = cli.run(['ls']).stdout.split('\n');
    expect(holder).toMatch(/^a lock +held +exclusive, user-blocking +\d/);
    expect(plain).toMatch(/^a lock +waiting +exclusive +\d/);
    expect(low).toMatch(/^a lock +waiting, overtaken 1 +exclusive, background +\d/);
  });

  test('--json is one object a line; a name shows that lock alone', async () => {
    await cli.hold('one');
    const { pid } = await cli.hold('two');
    expect(cli.json(['ls', 'two'])).toEqual([
      expect.objectContaining({ name: 'two', state: 'held', pid, processState: 'running' }),
    ]);
  });

  test('--all shows the other buckets too', async () => {
    await cli.hold('here');
    await cli.hold('there', '--bucket', 'other');
    const rows = cli.json(['ls', '--all']);
    expect(rows.map(({ bucket, name }) => [bucket, name])).toEqual([
      ['default', 'here'],
      ['other', 'there'],
    ]);
  });

  test('a name that would move the cursor or forge a line is shown escaped', async () => {
    await cli.holdHere('\u001b[2Jevil\nline\u202e');
    expect(cli.run(['ls']).stdout).toContain('\\x1b[2Jevil\\nline\\u202e');
  });

  test('a bucket that is not there is not made, and the message names those that are', async () => {
    await cli.holdHere('x');
    const { status, stderr } = cli.run(['ls', '--bucket', 'typo']);
    expect(status).toBe(69);
    expect(stderr).toMatch(/no bucket 'typo' in .*: the buckets here are 'default'/);
    expect(existsSync(path.join(cli.directory, 'typo'))).toBe(false);
  });

  test.each([
    ['ls'],
    ['top', '--once'],
    ['watch'],
    ['dashboard'],
    ['trace', '-'],
    ['graph'],
    ['steal', 'x'],
  ])('%s makes no bucket, in shared memory or of a broker', (...args) => {
    for (const url of ['shm:', 'broker:']) {
      const { status, stderr } = cli.run([...args, '--bucket', 'typo', '--url', url]);
      expect(stderr).toMatch(/no bucket 'typo'/);
      expect(status).toBe(69);
    }
    expect(readdirSync(cli.directory)).toEqual([]);
  });

  test('a bucket name that cannot be is a wrong argument', () => {
    expect(cli.run(['watch', '--bucket', '../up'])).toMatchObject({ status: 64 });
  });
});

describe('graph', () => {
  test('marks a deadlock, names its members, and exits with 1', async () => {
    const pids = (await cli.startDeadlock()).map(({ pid }) => pid);
    const { stdout, status } = cli.run(['graph']);
    expect(status).toBe(1);
    expect(stdout).toMatch(/DEADLOCK of 2:/);
    for (const pid of pids) expect(stdout).toContain(`pid ${pid}`);
    const dot = cli.run(['graph', '--dot']).stdout;
    expect(dot).toMatch(/^digraph holdfast \{/);
    expect(dot.match(/color=red/g)).toHaveLength(2);
    const [{ deadlocks }] = cli.json(['graph']);
    expect(deadlocks[0].members.map(({ name }) => name).sort()).toEqual(['left', 'right']);
  });

  test('a reader that closes the output early does not change the status', async () => {
    await cli.startDeadlock();
    const script =
      'mkfifo "$2" && exec 3<>"$2" 4>"$2" 3<&- && "$0" "$1" graph >&4; echo "status $?"';
    const program = ['bash', '-c', script, process.execPath, PROGRAM, `${cli.directory}/fifo`];
    const graph = cli.start([], { program });
    expect(await graph.line()).toBe('status 1');
    await graph.ended;
    expect(graph.errors).toBe('');
  });

  test('a deadlock is shown in full, and what waits behind it is counted', async () => {
    await cli.startDeadlock();
    const controller = new AbortController();
    const { signal } = controller;
    const waits = Array.from({ length: 2000 }, () =>
      cli.locks.request('left', { signal }, () => {}).catch(() => {}),
    );
    const { stdout } = cli.run(['graph']);
    expect(stdout).toMatch(/^DEADLOCK of 2:\n(.*\n){4} {2}and 2,000 more wait behind it\n/);
    expect(stdout).toContain("inside 'right'");
    expect(stdout).toContain('… and 1,996 more wait');
    expect(stdout.split('\n').length).toBeLessThan(40);
    expect(cli.run(['graph', '--dot']).stdout.split('\n').length).toBeLessThan(40);
    expect(cli.run(['doctor']).stdout).toContain('a deadlock of 2 requests');
    expect(cli.run(['doctor']).stdout).toContain('2000 more wait behind it');
    controller.abort();
    await Promise.all(waits);
  });

  test('many deadlocks and names are counted', async () => {
    const controller = new AbortController();
    const { signal } = controller;
    const names = Array.from({ length: 100 }, (_, i) => `name ${i}`);
    const warn = jest.spyOn(process, 'emitWarning').mockImplementation(() => {});
    const waits = names.map((name) =>
      cli.locks.request(name, { deadlock: 'warn' }, () =>
        cli.locks.request(name, { signal }, () => {}).catch(() => {}),
      ),
    );
    let pending = [];
    while (pending.filter(({ waited }) => waited >= 1000).length < names.length) {
      ({ pending } = await cli.locks.inspect());
    }
    const { stdout, status } = cli.run(['graph']);
    expect(status).toBe(1);
    expect(stdout).toMatch(/^DEADLOCK of 1:/);
    expect(stdout).toContain('… and 90 more deadlocks');
    expect(stdout).toContain('… and 50 more names are waited for');
    controller.abort();
    await Promise.all(waits);
    warn.mockRestore();
  });

  test('a queue is no deadlock', async () => {
    await cli.hold('a lock');
    cli.start(['exec', 'a lock', 'true']);
    await waiting(1);
    const { stdout, status } = cli.run(['graph']);
    expect(stdout).toMatch(/held .*\n.*waits/);
    expect(stdout).not.toMatch(/DEADLOCK/);
    expect(status).toBe(0);
  });
});

describe('watch', () => {
  test('shows a priority, and how often a request was overtaken', async () => {
    const { locks } = cli;
    await locks.request('first', () => {}); // makes the bucket
    const watch = cli.start(['watch', 'job']);
    let line;
    const seen = watch.line().then((first) => (line = first));
    while (line === undefined) {
      await locks.request('job', () => {}); // until it has begun to watch
      await Promise.race([seen, new Promise((resolve) => setTimeout(resolve, 20))]);
    }
    await seen;
    const holder = await locks.acquire('job');
    const low = locks.request('job', { priority: 'background' }, () => {});
    const plain = locks.request('job', () => {});
    holder.release();
    await Promise.all([low, plain]);
    while (!line.includes('overtaken')) line = await watch.line();
    expect(line).toMatch(/granted {3}job {2}exclusive, background, overtaken 1 pid \d+ token \d+$/);
  });

  test('prints events as they happen', async () => {
    await cli.locks.request('first', () => {}); // makes the bucket
    const watch = cli.start(['watch', '--json']);
    let event;
    const seen = watch.line().then((line) => (event = JSON.parse(line)));
    while (event === undefined) {
      await cli.locks.request('seen', () => {}); // until it has begun to watch
      await Promise.race([seen, new Promise((resolve) => setTimeout(resolve, 20))]);
    }
    expect(event).toMatchObject({ name: 'seen', mode: 'exclusive', pid: process.pid });
  });

  test('ends quietly when its reader has gone', async () => {
    await cli.holdHere('x');
    const script = `"$0" "$1" ls | head -c 1 >/dev/null; echo "\${PIPESTATUS[0]}"`;
    const program = ['bash', '-c', script, process.execPath, PROGRAM];
    const piped = cli.start([], { program });
    expect(await piped.line()).toBe('0');
    await piped.ended;
    expect(piped.errors).toBe('');
  });
});

describe('steal', () => {
  test('gives the lock to the next, and says which holder lost it', async () => {
    const holder = await cli.hold('a lock', '--on-loss', 'continue');
    const next = cli.start(['exec', 'a lock', 'echo', 'mine']);
    await waiting(1);
    const { status, stdout } = cli.run(['steal', 'a lock', '--yes']);
    expect(stdout).toContain(`taken from process ${holder.pid}`);
    expect(status).toBe(0);
    expect(await next.line()).toBe('mine');
  });

  test('asks first, and without a terminal refuses', async () => {
    await cli.holdHere('a lock');
    const { status, stderr } = cli.run(['steal', 'a lock']);
    expect(status).toBe(64);
    expect(stderr).toMatch(/--yes/);
    expect(cli.locks.isLocked('a lock')).toBe(true);
  });

  test('a free lock: 1', async () => {
    await cli.holdHere('another');
    expect(cli.run(['steal', 'a lock', '--yes']).status).toBe(1);
  });
});

describe('wait', () => {
  test('a free lock is not waited for; a held one for as long as was said', async () => {
    expect(cli.run(['wait', 'a lock']).status).toBe(0);
    await cli.holdHere('a lock');
    expect(cli.run(['wait', 'a lock', '-w', '0.05']).status).toBe(1);
  });

  test('ends with the lock', async () => {
    const holder = await cli.hold('a lock');
    const waiter = cli.start(['wait', 'a lock']);
    await waiting(1);
    await holder.closeInput();
    expect(await waiter.ended).toEqual({ status: 0, signal: null });
  });
});

describe('trace', () => {
  /** Waits and holds are begun and ended once each, on the tracks of their process. */
  function expectBalanced(events) {
    const open = new Map();
    for (const { ph, cat, id2, pid } of events) {
      if (ph !== 'b' && ph !== 'e') continue;
      const key = `${cat} ${pid} ${id2.local}`;
      open.set(key, (open.get(key) ?? 0) + (ph === 'b' ? 1 : -1));
    }
    expect([...open.values()].filter((count) => count !== 0)).toEqual([]);
    expect(open.size).toBeGreaterThan(0);
  }

  /**
   * The rules of Perfetto's importer of this format for an event (its json_trace_tokenizer.cc and
   * json_trace_parser_impl.cc; neither npm nor Debian has its trace processor); it drops others.
   */
  const isImportable = {
    b: ({ pid, id2, cat, name }) => pid > 0 && id2.local !== '' && cat !== '' && name !== '',
    e: (event) => isImportable.b(event),
    C: ({ args }) => Object.values(args).every(Number.isFinite),
    i: ({ s: scope, pid }) => scope === 'p' && pid > 0,
    M: ({ name, args }) => name === 'process_name' && typeof args.name === 'string',
  };

  function expectImportable(events) {
    const dropped = events.filter((event) => {
      const isId = [event.pid, event.tid].every((id) => id > 0 && id === id >>> 0);
      const hasTime = event.ph === 'M' || Number.isFinite(event.ts);
      const hasArray = Object.values(event).some(Array.isArray); // is an error there
      return !(isId && hasTime && !hasArray && isImportable[event.ph]?.(event));
    });
    expect(dropped).toEqual([]);
  }

  test.each(['trace.json', 'trace.json.gz'])(
    '%s has each wait and hold from begin to end',
    async (name) => {
      const file = path.join(cli.directory, name);
      const holder = await cli.hold('traced');
      const waiter = cli.start(['exec', 'traced', 'true']);
      await waiting(1);
      const trace = cli.start(['trace', file, '--seconds', '3']);
      await untilEqual(() => existsSync(file), true);
      await holder.closeInput();
      await waiter.ended;
      expect(await trace.ended).toEqual({ status: 0, signal: null });
      const bytes = readFileSync(file);
      const { traceEvents, ...rest } = JSON.parse(name.endsWith('.gz') ? gunzipSync(bytes) : bytes);
      expect(rest).toEqual({}); // a displayTimeUnit is the unit of all times for some versions
      expectBalanced(traceEvents);
      expectImportable(traceEvents);
      const names = traceEvents.filter(({ ph }) => ph === 'b').map(({ name: title }) => title);
      expect(new Set(names)).toEqual(new Set(['hold traced', 'wait traced', 'traced']));
      expect(traceEvents.filter(({ ph }) => ph === 'M').length).toBeGreaterThan(1);
    },
  );

  test('a lock without a name, odd names and their deaths are importable', async () => {
    const file = path.join(cli.directory, 'trace.json');
    const names = ['', '\ud800"\n\u202e', 'x'.repeat(10_000)];
    const handles = await Promise.all(names.map((name) => cli.locks.acquire(name)));
    const trace = cli.start(['trace', file]);
    await untilEqual(() => existsSync(file) && readFileSync(file, 'utf8').includes('xxxxx'), true);
    const holder = await cli.hold('mortal');
    holder.kill('SIGKILL');
    await untilEqual(async () => (await cli.locks.query()).held.length, handles.length);
    await cli.locks.request('mortal', () => {});
    await untilEqual(() => readFileSync(file, 'utf8').includes('died mortal'), true);
    await trace.kill('SIGINT').ended;
    const { traceEvents } = JSON.parse(readFileSync(file));
    expectBalanced(traceEvents);
    expectImportable(traceEvents);
  });

  test('a file that cannot be written is reported', async () => {
    await cli.locks.request('first', () => {}); // makes the bucket
    const { status, stderr } = cli.run(['trace', '/no/such/folder/trace.json', '--seconds', '1']);
    expect(status).toBe(74);
    expect(stderr).toMatch(/no such file or directory/);
  });
});

describe('help', () => {
  test('times are in seconds', () => {
    for (const command of ['top', 'dashboard']) {
      expect(cli.run([command, '--help']).stdout).toMatch(/<seconds> +.*\(default: 1\)$/m);
    }
  });

  test('without a command: the commands, and 64', () => {
    const { status, stderr } = cli.run([]);
    expect(stderr).toMatch(/Usage: holdfast .*\bls\b.*\bexec\b.*\bdoctor\b/s);
    expect(status).toBe(64);
  });

  test('of one command: its options, and 0', () => {
    const { status, stdout } = cli.run(['exec', '--help']);
    expect(stdout).toMatch(/^Usage: holdfast exec/);
    expect(stdout).toMatch(/--bucket <name>/);
    expect(status).toBe(0);
  });

  test('each command about locks says what it does, and takes the options of the address', () => {
    const { commands } = createProgram();
    const helps = commands.map((command) => [command.name(), command.helpInformation()]);
    expect(helps.map(([name]) => name)).toEqual(
      expect.arrayContaining(['ls', 'top', 'watch', 'graph', 'exec', 'steal', 'wait', 'doctor']),
    );
    for (const [name, text] of helps.filter(
      ([one]) => !/^(completion|bench-peer|postgres|share)$/.test(one),
    )) {
      expect(text).toMatch(new RegExp(`^Usage: holdfast ${name}[^]*--bucket <name>`));
    }
  });

  test('a command that is not there: 64, and what to do', () => {
    const { status, stderr } = cli.run(['sl']);
    expect(status).toBe(64);
    expect(stderr).toMatch(/unknown command 'sl'/);
  });
});

test('top without a terminal prints one page', async () => {
  await cli.holdHere('a lock');
  cli.start(['exec', 'a lock', 'true']);
  await waiting(1);
  const { stdout, status } = cli.run(['top', '--delay', '0.1']);
  expect(status).toBe(0);
  expect(stdout).toMatch(/1 held {2}1 waiting/);
  expect(stdout).toMatch(/^a lock +1 +1 /m);
});

test('bench prints a line for each figure', () => {
  const results = cli.json(['bench', '--seconds', '0.05']);
  expect(results).toHaveLength(7);
  for (const { medianNs } of results) expect(medianNs).toBeGreaterThan(0);
});

test('postgres grants nothing to an empty name, as of a variable that is not set', () => {
  const { status, stdout, stderr } = cli.run(['postgres', '--grant', '']);
  expect({ status, stdout }).toEqual({ status: 64, stdout: '' });
  expect(stderr).toMatch(/--grant <role>.* It is empty/);
});

describe('completion', () => {
  const bashComplete = (...words) => {
    const script = `
      holdfast() { "${process.execPath}" "${require('../support/cli.js').PROGRAM}" "$@"; }
      source <(holdfast completion bash)
      COMP_LINE="$*"; COMP_POINT=\${#COMP_LINE};
      COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _holdfast; printf '%s\\n' "\${COMPREPLY[@]}"`;
    const running = cli.start([], { program: ['bash', '-c', script, 'bash', ...words] });
    return running.ended.then(async () => {
      const lines = [];
      for (let line = await running.line(); line !== undefined; line = await running.line()) {
        lines.push(line);
      }
      return lines;
    });
  };

  test('bash completes commands, options and the names of locks', async () => {
    await cli.holdHere('ledger');
    expect(await bashComplete('holdfast', 'do')).toEqual(['doctor']);
    expect(await bashComplete('holdfast', 'graph', '--d')).toEqual(['--dot', '--directory']);
    expect(await bashComplete('holdfast', 'ls', 'le')).toEqual(['ledger']);
  });

  test('bash takes names as they are, and runs nothing that is in them', async () => {
    const mark = path.join(cli.directory, 'was-run');
    const names = [`$(touch ${mark})`, '`touch x`', 'it is "odd" $HOME *', 'nightly backup'];
    for (const name of names) await cli.holdHere(name);
    const quoted = await bashComplete('holdfast', 'ls', '');
    const { stdout } = spawnSync('bash', ['-c', `printf '%s\\n' ${quoted.join(' ')}`], {
      encoding: 'utf8',
    });
    expect(stdout.split('\n').slice(0, -1).sort()).toEqual([...names].sort());
    expect(existsSync(mark)).toBe(false);
  });

  test('a name that could deceive the reader of a terminal is not offered', async () => {
    const names = [
      'ledger',
      '',
      'a\nb',
      '\u001b[2J',
      '\u202etxt',
      'a\u2028b',
      'a\u200bb',
      '\ud800',
    ];
    for (const name of names) await cli.holdHere(name);
    expect(cli.run(['completion', 'names']).stdout).toBe('ledger\n');
  });

  test('the script for zsh names every command', () => {
    const { stdout } = cli.run(['completion', 'zsh']);
    expect(stdout).toMatch(/^#compdef holdfast/);
    for (const name of ['ls', 'top', 'exec', 'doctor']) expect(stdout).toContain(`'${name}:`);
    expect(stdout).not.toContain('bench-peer'); // is not for people
  });
});

describe('the manual page', () => {
  const visible = (list) => list.filter((one) => !one.hidden && !one._hidden);

  test('has every command, argument and option that --help has, and every exit status', () => {
    const page = manualPage().replaceAll('\\-', '-');
    const { commands } = createProgram();
    for (const command of visible(commands)) {
      expect(page).toContain(`\n.SS\n${command.name()} `);
      for (const { flags } of visible(command.options)) expect(page).toContain(`\n.B ${flags}\n`);
    }
    for (const [status] of MEANINGS) expect(page).toContain(`\n.B ${status}\n`);
    expect(page).not.toMatch(/bench-peer|--fcntl/); // are not for people
  });

  (hasGroff ? test : test.skip)('is set by groff without a warning', () => {
    const args = ['-man', '-Tutf8', '-ww', '-Kutf8', '-P-cbou'];
    const { status, stdout, stderr } = spawnSync('groff', args, {
      encoding: 'utf8',
      input: manualPage(),
    });
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(stdout).toMatch(/EXIT STATUS/);
    expect(stdout).toMatch(/holdfast exec -n nightly -- .\/backup.sh/);
  });
});
