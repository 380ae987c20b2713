/**
 * `halfspace completion`: a script for bash or zsh that completes verbs, options and the choices of
 * options; everything else completes to files. The script holds all names, made of the
 * declarations in verbs.ts, so that the shell need not start the command.
 */

import type { Call, Verb } from '../call';
import { COMMON_OPTIONS, type Option } from '../options';

/** Prints the script, which the user's shell must source. */
export async function run(call: Call, all: readonly Verb[]): Promise<0> {
  const [shell] = call.args;
  if (call.args.length !== 1 || (shell !== 'bash' && shell !== 'zsh')) {
    call.misuse('completion takes the name of a shell, bash or zsh');
  }
  const verbs = all.filter(({ name }) => name !== 'completion');
  await call.print(shell === 'bash' ? bashScript(verbs) : zshScript(verbs, all));
  return 0;
}

/** All options of a verb, in the order of its help. */
const optionsOf = (verb: Verb) => [...verb.options, ...COMMON_OPTIONS];
/** `-k --k`, or `--rank` where there is no short name. */
const namesOf = ({ name, short }: Option) => `${short ? `-${short} ` : ''}--${name}`;

/** One function: choices after an option that has some, options after a dash, else files. */
function bashScript(verbs: readonly Verb[]): string {
  const names = [...verbs.map(({ name }) => name), 'completion'];
  // A line of the `case` over `verb:option before the word` for each option with choices.
  const choices = verbs.flatMap((verb) =>
    optionsOf(verb).flatMap((option) =>
      option.choices === undefined
        ? []
        : [`    ${verb.name}:--${option.name}) words="${option.choices.join(' ')}" ;;`],
    ),
  );
  const options = verbs.map(
    (verb) => `    ${verb.name}) words="${optionsOf(verb).map(namesOf).join(' ')}" ;;`,
  );
  return `# bash completion for halfspace
_halfspace() {
  local word="\${COMP_WORDS[COMP_CWORD]}" verb="\${COMP_WORDS[1]}" words=""
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "${names.join(' ')} --help --version" -- "$word"))
    return
  fi
  if [ "$verb" = completion ]; then
    COMPREPLY=($(compgen -W "bash zsh" -- "$word"))
    return
  fi
  case "$verb:\${COMP_WORDS[COMP_CWORD-1]}" in
${choices.join('\n')}
  esac
  if [ -z "$words" ] && [ "\${word#-}" != "$word" ]; then
    case "$verb" in
${options.join('\n')}
    esac
  fi
  if [ -n "$words" ]; then
    COMPREPLY=($(compgen -W "$words" -- "$word"))
  else
    COMPREPLY=($(compgen -f -- "$word"))
  fi
}
complete -o filenames -F _halfspace halfspace
`;
}

/** A call of `_arguments` for each verb, which shows the help next to each option. */
function zshScript(verbs: readonly Verb[], all: readonly Verb[]): string {
  const names = all.map(({ name, summary }) => `    ${quoted(`${name}:${summary}`)}`);
  const cases = verbs.map((verb) => {
    const specs = optionsOf(verb).map((option) => `        ${zshSpec(option)}`);
    const all = [...specs, "        '*:file:_files'"].join(' \\\n');
    return `      ${verb.name}) _arguments \\\n${all} ;;`;
  });
  return `#compdef halfspace
_halfspace() {
  local -a verbs
  verbs=(
${names.join('\n')}
  )
  if (( CURRENT == 2 )); then
    _describe verb verbs
    return
  fi
  local verb=$words[2]
  (( CURRENT-- ))
  shift words
  case $verb in
${cases.join('\n')}
      completion) _values shell bash zsh ;;
  esac
}
compdef _halfspace halfspace
`;
}

/**
 * An option as `_arguments` reads it: `*--name[help]:VALUE:action`, the star if it repeats. With a
 * short name it is `(-n --name){-n,--name}...`: either excludes both, and braces make two of it.
 */
function zshSpec(option: Option): string {
  const { name, short, value, kind, choices, help } = option;
  // Brackets, colons and backslashes end or escape the parts of such a specification.
  const text = `[${help.replaceAll(/[[\]:\\]/g, ' ')}]`;
  const action = choices === undefined ? '_files' : `(${choices.join(' ')})`;
  const rest = value === undefined ? text : `${text}:${value}:${action}`;
  if (short) return `${quoted(`(${namesOf(option)})`)}{-${short},--${name}}${quoted(rest)}`;
  return quoted(`${kind === 'list' || kind === 'words' ? '*' : ''}--${name}${rest}`);
}

/** One word of a shell, in single quotes. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
