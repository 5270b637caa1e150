// What was given on the command line.

import { asJson } from '@tallystick/contract';
import { CannotRun } from './cannot-run.ts';

/** For an option that may be repeated. */
export function collect(value: string, all: readonly string[] = []): string[] {
  return [...all, value];
}

/** The first of these options that is given, as it is written on the command line. */
export function givenOption<O extends object>(
  options: O,
  names: readonly (keyof O & string)[],
): string | undefined {
  const name = names.find((each) => options[each] !== undefined);
  return name && `--${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

/** Several may stand in one text, with commas or spaces between them. */
export function namesIn(texts: readonly string[] = []): string[] {
  return texts.flatMap((text) => text.split(/[\s,]+/)).filter((name) => name !== '');
}

/** Throws CannotRun; `what` it should have been is named there, with all that are known. */
export function oneOf<T extends string>(known: readonly T[], name: string, what: string): T {
  const found = known.find((each) => each === name);
  if (found !== undefined) return found;
  throw new CannotRun(`${JSON.stringify(name.slice(0, 80))} is no ${what}; there are ${known.join(', ')}`);
}

export function wordsOf(choice: Parameters<typeof asJson>[0]): readonly string[] {
  return asJson(choice).enum ?? [];
}

/** As the service takes them: separated by commas. */
export function wordsIn(
  text: string | undefined,
  choice: Parameters<typeof asJson>[0],
  what: string,
): string | undefined {
  if (text === undefined) return undefined;
  const words = namesIn([text]).map((word) => oneOf(wordsOf(choice), word, what));
  if (words.length > 0) return words.join(',');
  throw new CannotRun(`"" is no ${what}; there are ${wordsOf(choice).join(', ')}`);
}
