'use strict';

const { Argument } = require('commander');
const { openManager, bucketExists } = require('./table-options.js');
const { printLine } = require('./output.js');
const { printable } = require('./printable.js');

/** @typedef {import('commander').Command} Command */

/** Commands whose first argument is the name of a lock. */
const takesName = (/** @type {Command} */ command) =>
  command.registeredArguments[0]?.name() === 'name';

/** @param {Command} program */
const visible = (program) =>
  program
    .createHelp()
    .visibleCommands(program)
    .filter((command) => command.name() !== 'help');

/** @param {Command} program */
const commandsOf = (program) =>
  visible(program).map((command) => ({
    name: command.name(),
    text: command.description(),
    options: command.options
      .filter(({ hidden }) => !hidden)
      .flatMap(({ short, long, description }) =>
        [short, long]
          .filter((flag) => flag !== undefined)
          .map((flag) => ({ flag, text: description })),
      ),
    hasName: takesName(command),
  }));

/** @param {string} text  inside single quotes of a shell */
const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;

/** Completes the name of a lock, which may have any letter in it. */
const BASH_NAMES = String.raw`# Names are quoted here; compgen -W would run what is in $( ) in one.
_holdfast_names() {
  local typed=${'$'}{COMP_LINE:0:COMP_POINT} name quoted
  typed=${'$'}{typed#*"${'$'}{COMP_WORDS[0]}"}
  typed=${'$'}{typed#*"$1"}
  typed=${'$'}{typed#"${'$'}{typed%%[! ]*}"}
  # The name is the first argument: an unquoted blank is behind it.
  case ${'$'}{typed//\\?/} in *' '*) return 1 ;; esac
  compopt +o filenames 2>/dev/null
  # Of what was typed, only what is behind a colon and the like is replaced.
  local word=${'$'}{2##*[:=@]}
  while IFS= read -r name; do
    printf -v quoted %q "$name"
    [[ $quoted == "$typed"* ]] && COMPREPLY+=("${'$'}{quoted:${'$'}{#typed}-${'$'}{#word}}")
  done < <(holdfast completion names 2>/dev/null)
  return 0
}
`;

/** @param {Command} program */
function bashScript(program) {
  const commands = commandsOf(program);
  const cases = commands.map(({ name, options }) => {
    const flags = options.map(({ flag }) => flag).join(' ');
    return `    ${name}) flags=${quoted(`${flags} --help`)} ;;`;
  });
  const named = commands.filter(({ hasName }) => hasName).map(({ name }) => name);
  return `# bash completion for holdfast: source <(holdfast completion bash)
${BASH_NAMES}_holdfast() {
  local word=\${COMP_WORDS[COMP_CWORD]} command=\${COMP_WORDS[1]} flags=''
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    mapfile -t COMPREPLY < <(compgen -W ${quoted(commands.map(({ name }) => name).join(' '))} -- "$word")
    return
  fi
  case $command in
${cases.join('\n')}
  esac
  case $word in
    -*) mapfile -t COMPREPLY < <(compgen -W "$flags" -- "$word") ; return ;;
  esac
  case $command in
    ${named.join('|')}) _holdfast_names "$command" "$word" && return ;;
  esac
  mapfile -t COMPREPLY < <(compgen -o default -- "$word")
}
complete -o filenames -F _holdfast holdfast
`;
}

/** @param {string} text  in a description of zsh's _arguments */
const zshText = (text) => text.replace(/[[\]:\\]/g, '\\$&');

/** @param {Command} program */
function zshScript(program) {
  const commands = commandsOf(program);
  const list = commands.map(({ name, text }) => `    ${quoted(`${name}:${zshText(text)}`)}`);
  const cases = commands.map(({ name, options, hasName }) => {
    const flags = options.map(
      ({ flag, text }) => `        ${quoted(`${flag}[${zshText(text)}]`)} \\`,
    );
    const first = hasName ? "'1:lock:_holdfast_names' " : '';
    return `    ${name})\n      _arguments \\\n${flags.join('\n')}\n        ${first}'*:: :_default' ;;`;
  });
  return `#compdef holdfast
# zsh completion for holdfast: source <(holdfast completion zsh)
_holdfast_names() {
  local -a names
  names=("\${(@f)$(holdfast completion names 2>/dev/null)}")
  compadd -a names
}
_holdfast() {
  local -a commands
  commands=(
${list.join('\n')}
  )
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  local command=$words[2]
  shift words
  (( CURRENT -= 1 ))
  case $command in
${cases.join('\n')}
  esac
}
compdef _holdfast holdfast
`;
}

/** The names that are held or waited for, for the completion of arguments. */
async function printNames() {
  if (!bucketExists({})) return;
  const manager = openManager({});
  const { held, pending } = await manager.query();
  manager.close();
  // A shell shows what it offers: no line breaks, and nothing that a terminal obeys.
  const isWord = (/** @type {string} */ name) => name !== '' && printable(name) === name;
  const names = new Set([...held, ...pending].map(({ name }) => name));
  for (const name of [...names].filter(isWord).sort()) printLine(name);
}

/** @param {Command} program */
const add = (program) =>
  program
    .command('completion')
    .description('print a script that completes commands, options and locks in a shell')
    .addArgument(new Argument('<shell>', 'the shell').choices(['bash', 'zsh', 'names']))
    .action(async (shell) => {
      if (shell === 'names') {
        await printNames();
        return;
      }
      const { createProgram } = require('./full-program.js');
      process.stdout.write((shell === 'bash' ? bashScript : zshScript)(createProgram()));
    });

module.exports = { add, bashScript, zshScript };
