/**
 * Completion for bash and zsh: a script that holds the names of all verbs and options, and the
 * choices of those that have some; what is left are files.
 */

import type { Call } from '../call';
import { COMMON_OPTIONS } from '../shared-options';
import type { Option, Verb, VerbEntry } from '../verb';

/** The verb, of a list of verbs. */
export function completionOf(entries: readonly VerbEntry[]): Verb {
  return {
    name: 'completion',
    summary: 'completion for bash or zsh',
    usage: 'bash|zsh',
    options: [],
    example: 'halfspace completion bash > halfspace.bash && source halfspace.bash',
    async run(call) {
      const shell = shellOf(call);
      const verbs = await Promise.all(
        entries.map(async (entry) => (entry.name === 'completion' ? null : entry.load())),
      );
      const all = verbs.flatMap((one) => (one === null ? [] : [one.verb]));
      await call.print(shell === 'bash' ? bashScript(all) : zshScript(all, entries));
      return 0;
    },
  };
}

function shellOf(call: Call): 'bash' | 'zsh' {
  const [shell] = call.args;
  if (call.args.length === 1 && (shell === 'bash' || shell === 'zsh')) return shell;
  return call.misuse('completion takes the name of a shell, bash or zsh');
}

const optionsOf = (verb: Verb) => [...verb.options, ...COMMON_OPTIONS];
const namesOf = (options: readonly Option[]) => options.map(({ name }) => `--${name}`).join(' ');

function bashScript(verbs: readonly Verb[]): string {
  const names = [...verbs.map(({ name }) => name), 'completion'];
  const choices = verbs.flatMap((verb) =>
    optionsOf(verb).flatMap((option) =>
      option.choices === undefined
        ? []
        : [`    ${verb.name}:--${option.name}) words="${option.choices.join(' ')}" ;;`],
    ),
  );
  const options = verbs.map((verb) => `    ${verb.name}) words="${namesOf(optionsOf(verb))}" ;;`);
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

function zshScript(verbs: readonly Verb[], entries: readonly VerbEntry[]): string {
  const names = entries.map(({ name, summary }) => `    ${quoted(`${name}:${summary}`)}`);
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

function zshSpec({ name, value, kind, choices, help }: Option): string {
  const told = help.replaceAll(/[[\]:\\]/g, ' ');
  const star = kind === 'list' ? '*' : '';
  if (value === undefined) return quoted(`--${name}[${told}]`);
  const action = choices === undefined ? '_files' : `(${choices.join(' ')})`;
  return quoted(`${star}--${name}[${told}]:${value}:${action}`);
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
