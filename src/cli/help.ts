/** The texts of `--help`, of the command and of each verb, at most 100 columns wide. */

import type { Verb } from './call';
import type { Option } from './options';
import { wrapped } from './output/figures';
import { COMMON_OPTIONS } from './verbs';

export function helpOfCommand(all: readonly Verb[]): string {
  const width = Math.max(...all.map(({ name }) => name.length));
  const verbs = all.map(({ name, summary }) => `  ${name.padEnd(width)}  ${summary}`);
  return `halfspace VERB …: short binary codes of vectors and texts, and what is near what

${verbs.join('\n')}

halfspace VERB --help shows the options of a verb, halfspace --version the version.
`;
}

/**
 * The usage, the options and an example of a verb: first the options that are used most, the others
 * under "More", at last those that all verbs have.
 */
export function helpOfVerb({ name, summary, usage, options, first, example }: Verb): string {
  const all = [...options, ...COMMON_OPTIONS].filter(({ isHidden }) => !isHidden);
  const width = Math.max(...all.map((option) => spelled(option).length));
  const linesOf = (some: readonly Option[]) =>
    some.map((one) => optionLines(one, width)).join('\n');
  const names = first?.split(' ') ?? all.map((one) => one.name);
  const shown = names.flatMap((one) => all.filter((option) => option.name === one));
  const more = all.filter((option) => !shown.includes(option));
  // Title and usage may take several lines; each command of an example has its own line.
  const title = wrapped(`halfspace ${name}: ${summary}`, 98);
  return `${title.join('\n')}

Usage:
  ${wrapped(`halfspace ${name} ${usage}`.trimEnd(), 96).join('\n    ')}

Options:
${linesOf(shown)}
${more.length === 0 ? '' : `\nMore:\n${linesOf(more)}\n`}
Example:
  ${example.replaceAll(' && ', ' &&\n  ')}
`;
}

/** An option with its help, which begins behind `width` columns of names. */
function optionLines(option: Option, width: number): string {
  // Two blanks before a name and two after it leave 96 - width of 100 columns.
  const [first, ...others] = wrapped(described(option), 96 - width);
  const further = others.map((line) => ' '.repeat(width + 4) + line);
  return [`  ${spelled(option).padEnd(width)}  ${first}`, ...further].join('\n');
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
