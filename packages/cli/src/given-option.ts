// What was given on the command line.

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
