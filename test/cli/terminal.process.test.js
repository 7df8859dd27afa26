'use strict';

const { spawnSync } = require('node:child_process');
const { existsSync, readFileSync } = require('node:fs');
const { constants } = require('node:os');
const path = require('node:path');
const stringWidth = require('string-width');
const { CommandLine, PROGRAM } = require('../support/cli.js');
const { untilEqual } = require('../support/process-bucket.js');
const { Terminal, hasTmux } = require('../support/terminal.js');

// Tests that need a real terminal. `npm test` installs tmux where it may.

let cli;
let terminal;
beforeEach(() => {
  cli = new CommandLine();
});
afterEach(() => {
  terminal?.close();
  cli.close();
});

const waiting = (count) => untilEqual(async () => (await cli.locks.query()).pending.length, count);

/** @param {string[]} args @param {object} [size] */
function open(args, size) {
  terminal = new Terminal([process.execPath, PROGRAM, ...args], {
    ...size,
    env: { HOLDFAST_DIR: cli.directory },
  });
  return terminal;
}

/** An interactive shell, with `holdfast` as a command. */
function openShell(...shell) {
  terminal = new Terminal(shell, {
    columns: 100,
    rows: 24,
    env: { HOLDFAST_DIR: cli.directory, NO_COLOR: '1', PROMPT: 'shell$ ' },
  });
  return terminal;
}

const openBash = () => openShell('env', 'PS1=shell$ ', 'bash', '--norc', '--noprofile', '-i');

const inTerminal = hasTmux ? describe : describe.skip;

inTerminal('top', () => {
  /** Two locks that are held, one of them waited for. */
  const startScene = async () => {
    await cli.holdHere('ledger', { label: 'nightly backup' });
    await cli.holdHere('a very long name of a lock that does not fit into its column at all');
    cli.start(['exec', 'ledger', 'true']);
    await waiting(1);
  };

  test.each([
    [80, 24],
    [160, 50],
  ])('fills %d x %d and nothing more', async (columns, rows) => {
    await startScene();
    const top = open(['top', '--delay', '0.2'], { columns, rows });
    await top.shows(/ledger +1 +1 /);
    const lines = top.lines();
    expect(lines).toHaveLength(rows);
    for (const line of lines) expect(stringWidth(line)).toBeLessThanOrEqual(columns);
    expect(lines[0]).toMatch(/^holdfast top .*\d\d:\d\d:\d\d$/);
    expect(lines[1]).toMatch(/2 held {2}1 waiting/);
    expect(lines.at(-1)).toMatch(/^q quit {2}s sort: waiting ↓/);
    expect(lines.join('\n')).toMatch(/^ledger .* \d+ [\d.]+ m?s nightly/m);
  });

  test('keys sort, filter, open a lock and go back; q gives the terminal back', async () => {
    await startScene();
    const top = open(['top', '--delay', '0.2'], { columns: 120, rows: 24 });
    await top.shows(/ledger +1 +1 /);
    top.press('s');
    await top.shows(/s sort: grants\/s ↓/);
    top.press('/', 'l', 'o', 'n', 'g');
    await top.shows(/^filter: long/m);
    await untilEqual(() => /^ledger/m.test(top.text()), false);
    top.press('Enter');
    await top.shows(/filter: long$/m);
    top.press('Escape');
    await top.shows(/^ledger/m);
    top.press('s', 's', 's', 'End', 'Enter'); // by name: the last one
    await top.shows(/^ledger: 1 held, 1 waiting/m);
    await top.shows(/^waiting +exclusive/m);
    top.press('Escape');
    await top.shows(/LAST 12.0 S/);
    top.press('?');
    await top.shows(/sort by the next/);
    top.press('q');
    await top.shows(/^status 0$/m);
    expect(top.text()).not.toMatch(/LAST 12.0 S/);
  });

  test('Ctrl-Z gives the terminal to the shell, and fg brings the picture back', async () => {
    await startScene();
    const shell = openBash();
    await shell.shows(/^shell\$/m);
    shell.type(`${process.execPath} ${PROGRAM} top --delay 0.2\n`);
    await shell.shows(/^ledger +1 +1 /m);
    shell.press('C-z');
    await shell.shows(/Stopped/);
    expect(shell.text()).not.toMatch(/^ledger/m);
    shell.type('stty -a | grep -o "[-]*icanon"\n');
    await shell.shows(/^icanon$/m); // lines, not keys
    shell.type('fg\n');
    await shell.shows(/^ledger +1 +1 /m);
    shell.press('?');
    await shell.shows(/sort by the next/); // keys reach it again
    shell.press('q');
    await shell.shows(/^shell\$ *$/m);
  });

  test('follows the size of the terminal', async () => {
    await startScene();
    const top = open(['top', '--delay', '0.2'], { columns: 80, rows: 24 });
    await top.shows(/ledger +1 +1 /);
    top.resize(60, 12);
    await untilEqual(() => /^q quit/.test(top.lines()[11] ?? ''), true);
    for (const line of top.lines()) expect(stringWidth(line)).toBeLessThanOrEqual(60);
    top.press('C-c');
    await top.shows(/status 0/);
  });
});

inTerminal('steal asks', () => {
  test.each([
    ['Ctrl-C', 'C-c'],
    ['the end of the input', 'C-d'],
    ['no', 'Enter'],
  ])('and takes %s as no', async (_, key) => {
    await cli.holdHere('ledger');
    const steal = open(['steal', 'ledger']);
    await steal.shows(/\[y\/N\]/);
    steal.press(key);
    await steal.shows(/^holdfast: nothing was changed\n+status 1$/m);
    expect(steal.text()).not.toMatch(/Error|at .*\.js/);
  });
});

inTerminal('exec in a terminal', () => {
  test('Ctrl-C reaches the command once', async () => {
    const script = "trap 'n=$((n+1)); echo got $n' INT; echo ready; while :; do sleep 0.1; done";
    const running = open(['exec', 'lock', '--', 'sh', '-c', script]);
    await running.shows(/ready/);
    running.press('C-c');
    await running.shows(/got 1/);
    running.press('C-c');
    await running.shows(/got 2/);
    expect(running.text()).not.toMatch(/got 3/);
    expect(cli.locks.isLocked('lock')).toBe(true);
  });

  test('the command has the terminal: its input, its size, a password without echo', async () => {
    const script = 'stty -echo; stty size; read secret; stty echo; echo "had $secret"; exit 3';
    const running = open(['exec', 'lock', '--', 'sh', '-c', script], { columns: 80, rows: 24 });
    await running.shows(/24 80/);
    running.press('abc', 'Enter');
    await running.shows(/had abc/);
    await running.shows(/status 3/);
    expect(running.text().match(/abc/g)).toHaveLength(1);
  });

  test('Ctrl-Z stops it and the command with the lock held, fg continues both', async () => {
    const shell = openBash();
    await shell.shows(/^shell\$/m);
    // Bash lets a Ctrl-C pass that comes when the command that it waits for has just ended.
    const loop = 'trap "exit 130" INT; echo ready; while :; do sleep 0.05; echo tick; done';
    shell.type(`${process.execPath} ${PROGRAM} exec lock -c '${loop}'\n`);
    await shell.shows(/^tick/m);
    shell.press('C-z');
    await shell.shows(/Stopped/);
    expect((await cli.locks.inspect()).held).toMatchObject([{ processState: 'stopped' }]);
    shell.type('clear; fg\n');
    await shell.shows(/(?<![^])(?![^]*Stopped)[^]*^tick/m); // no earlier ones
    shell.press('C-c');
    await shell.shows(/shell\$ *$/m);
    await untilEqual(() => cli.locks.isLocked('lock'), false);
  });

  test('Ctrl-C while it waits ends it, and leaves the queue', async () => {
    await cli.holdHere('lock');
    const running = open(['exec', 'lock', 'echo', 'never']);
    await waiting(1);
    running.press('C-c');
    await running.shows(/status 130/);
    await waiting(0);
  });
});

inTerminal('steal', () => {
  test('asks who is sure', async () => {
    await cli.hold('lock', '--on-loss', 'continue');
    const refused = open(['steal', 'lock']);
    await refused.shows(/Take it away\? \[y\/N\]/);
    refused.press('n', 'Enter');
    await refused.shows(/nothing was changed[^]*status 1/);
    expect(cli.locks.isLocked('lock')).toBe(true);
    refused.close();
    const agreed = open(['steal', 'lock']);
    await agreed.shows(/Take it away\?/);
    agreed.press('y', 'Enter');
    await agreed.shows(/taken from process[^]*status 0/);
    expect(cli.locks.isLocked('lock')).toBe(false);
  });
});

inTerminal('completion in bash', () => {
  test('completes commands and names of locks, which are quoted', async () => {
    await cli.holdHere('nightly backup');
    await cli.holdHere('cache:user=7');
    const shell = openBash();
    await shell.shows(/^shell\$/m);
    const define = `holdfast() { ${process.execPath} ${PROGRAM} "$@"; }`;
    shell.type(`${define}; source <(holdfast completion bash); clear; echo loaded\n`);
    await shell.shows(/^loaded$/m);
    for (const [typed, expected] of [
      ['holdfast doc', /holdfast doctor/],
      ['holdfast ls nig', /holdfast ls nightly\\ backup/],
      ['holdfast steal nightly\\ b', /holdfast steal nightly\\ backup/],
      ['holdfast ls cac', /holdfast ls cache:user=7/],
      ['holdfast ls cache:us', /holdfast ls cache:user=7/],
      ['holdfast ls cache:', /holdfast ls cache:user=7/],
      ['holdfast ls cache:user=', /holdfast ls cache:user=7/],
    ]) {
      shell.type(typed);
      shell.press('Tab');
      await shell.shows(expected);
      shell.press('C-u');
    }
  });
});

const hasZsh = spawnSync('zsh', ['--version']).status === 0;

(hasTmux && hasZsh ? describe : describe.skip)('completion in zsh', () => {
  const openZsh = async () => {
    const shell = openShell('zsh', '-f', '-i');
    await shell.shows(/shell\$/);
    const define = `holdfast() { ${process.execPath} ${PROGRAM} "$@" }`;
    const load = 'autoload -U compinit; compinit -u -D; source <(holdfast completion zsh); clear';
    shell.type(`${define}; ${load}; echo loaded\n`);
    await shell.shows(/^loaded$/m);
    return shell;
  };

  test('completes commands, options and names of locks', async () => {
    await cli.holdHere('ledger');
    await cli.holdHere('nightly backup');
    const shell = await openZsh();
    for (const [typed, expected] of [
      ['holdfast doc', /holdfast doctor/],
      ['holdfast graph --do', /holdfast graph --dot/],
      ['holdfast ls led', /holdfast ls ledger/],
      ['holdfast steal nig', /holdfast steal nightly\\ backup/],
    ]) {
      shell.type(typed);
      shell.press('Tab');
      await shell.shows(expected);
      shell.press('C-u');
    }
    shell.type('holdfast ');
    shell.press('Tab');
    await shell.shows(/^doctor +-- .*locks/m);
  });
});

inTerminal('a terminal that is closed', () => {
  /** Closes the terminal of a command once it shows `pattern`; resolves with its exit status. */
  async function statusAfterClose(args, pattern) {
    const file = path.join(cli.directory, 'status');
    const program = [process.execPath, PROGRAM, ...args];
    // The shell is notified, too, and continues.
    const script = 'trap : HUP; file=$1; shift; "$@"; echo $? > "$file"';
    terminal = new Terminal(['sh', '-c', script, 'sh', file, ...program], {
      env: { HOLDFAST_DIR: cli.directory },
    });
    await terminal.shows(pattern);
    terminal.close();
    await untilEqual(() => existsSync(file) && readFileSync(file, 'utf8') !== '', true);
    return Number(readFileSync(file, 'utf8')) - 128;
  }

  test.each([
    ['top', ['top', '--delay', '0.2'], /q quit/],
    ['dashboard', ['dashboard', '--port', '0'], /http/],
    ['exec', ['exec', 'lock', 'sh', '-c', 'trap : HUP; echo ready; read line'], /ready/],
  ])('%s ends by its hangup', async (_, args, pattern) => {
    await cli.locks.request('first', () => {}); // makes the bucket
    expect(await statusAfterClose(args, pattern)).toBe(constants.signals.SIGHUP);
    await untilEqual(() => cli.locks.isLocked('lock'), false);
  });
});
