/** The texts of `--help`, of the command and of each verb, at most 100 columns wide. */

import type { Verb } from './call';
import { COMMON_OPTIONS, type Option } from './options';
import { wrapped } from './output/figures';

/** All verbs with their summaries, in the order given. */
export function helpOfCommand(all: readonly Verb[]): string {
  const width = Math.max(...all.map(({ name }) => name.length));
  const verbs = all.map(({ name, summary }) => `  ${name.padEnd(width)}  ${summary}`);
  return `halfspace VERB …: short binary codes of vectors and texts, and what is near what

${verbs.join('\n')}

halfspace VERB --help shows the options of a verb, halfspace --version the version.
`;
}

/** The usage, the options and an example of a verb; options that all verbs have come last. */
export function helpOfVerb(verb: Verb): string {
  const options = [...verb.options, ...COMMON_OPTIONS];
  const width = Math.max(...options.map((option) => spelled(option).length));
  // Two blanks before a name and two after it leave 96 - width of 100 columns.
  const lines = options.flatMap((option) => {
    const [first, ...others] = wrapped(described(option), 96 - width);
    return [
      `  ${spelled(option).padEnd(width)}  ${first}`,
      ...others.map((line) => ' '.repeat(width + 4) + line),
    ];
  });
  // Title and usage may take several lines; each command of an example has its own line.
  const title = wrapped(`halfspace ${verb.name}: ${verb.summary}`, 98);
  const usage = wrapped(`halfspace ${verb.name} ${verb.usage}`, 96);
  return `${title.join('\n')}

Usage:
  ${usage.join('\n    ')}

Options:
${lines.join('\n')}

Example:
  ${verb.example.replaceAll(' && ', ' &&\n  ')}
`;
}

/** `-k, --k N`; without a short name four blanks in its place, so that long names align. */
function spelled({ name, short, value }: Option): string {
  const shown = short === undefined ? '    ' : `-${short}, `;
  return `${shown}--${name}${value === undefined ? '' : ` ${value}`}`;
}

/** The help text, the choices unless the text names them all, and `[initial value]`. */
function described({ help, choices, initial }: Option): string {
  const isNamed = choices?.every((choice) => help.includes(choice)) ?? true;
  const all = isNamed ? '' : `: ${choices?.join(', ')}`;
  return `${help}${all}${initial === undefined ? '' : ` [${initial}]`}`;
}
