// JSON written in many ways that mean the same: members in any order, blanks anywhere, numbers and characters spelled
// otherwise; and in the one way of RFC 8785, written to be obviously right.

/** The text of RFC 8785; Node itself writes numbers and strings as that has it. */
export function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([key, inner]) => `${JSON.stringify(key)}:${canonical(inner)}`).join(',')}}`;
}

export interface Manner {
  /** Members in another order, blanks, numbers in other spellings. */
  readonly isLoose: boolean;
  /** Characters as `\u`, also in keys. */
  readonly hasEscapes: boolean;
}

/** Spells a value; what is chosen depends on the seed alone. */
export function spell(value: unknown, { isLoose, hasEscapes }: Manner, seed: number): string {
  const oneOf = chooser(seed);
  const blank = () => (isLoose ? oneOf(['', '', '', ' ', '\n', '\t\r\n ']) : '');
  const join = (parts: readonly string[]) => parts.map((part) => blank() + part + blank()).join(',');

  const text = (string: string) => {
    const usual = JSON.stringify(string);
    if (!hasEscapes) return usual;
    return usual.replaceAll(/\\u....|\\.|[^"\\]/gsu, (character) => {
      if (character.startsWith('\\') || oneOf([true, true, true, false])) return character;
      return character === '/' ? '\\/' : character.replaceAll(/./gs, escape);
    });
  };
  const escape = (unit: string) => {
    const hex = unit.charCodeAt(0).toString(16).padStart(4, '0');
    return `\\u${oneOf([hex, hex.toUpperCase()])}`;
  };
  const number = (double: number) => {
    // An integer that a double cannot count to is taken only where it does not look like one.
    if (Number.isInteger(double) && !Number.isSafeInteger(double)) return double.toExponential();
    const usual = JSON.stringify(double);
    if (!isLoose) return usual;
    const others = Number.isInteger(double) ? [`${usual}.0`, `${usual}e0`, `${usual}.00E+0`] : [];
    return oneOf([usual, usual, double.toExponential(), ...others, ...(double === 0 ? ['-0'] : [])]);
  };
  const write = (any: unknown): string => {
    if (typeof any === 'string') return text(any);
    if (typeof any === 'number') return number(any);
    if (Array.isArray(any)) return `[${join(any.map(write))}]`;
    if (typeof any !== 'object' || any === null) return JSON.stringify(any);
    const members = Object.entries(any).sort(([a], [b]) => (isLoose ? oneOf([-1, 1]) : a < b ? -1 : 1));
    return `{${join(members.map(([key, inner]) => `${text(key)}${blank()}:${blank()}${write(inner)}`))}}`;
  };
  return write(value);
}

/** Chance that can be repeated: a xorshift of 32 bits. */
function chooser(seed: number): <T>(choices: readonly T[]) => T {
  let state = seed | 1;
  return (choices) => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return choices[(state >>> 0) % choices.length]!;
  };
}
