// Where a number lies, in words that can be looked up: its sign and power of two, the sixteenth of that, and the sixteenth
// of this one. What is compared with a number is looked for by few such places, and then looked at itself: numbers that
// share all three are not told apart here.

import type { Operator } from '../../query/query.ts';

const OCTAVE_MAX = 64;
const PARTS = 16;

/** Where a number lies, ever more exactly: `p074`, `p07481`'s beginning `p0748`, `p07481`. Zero is `z`, below it `m`. */
export function placesOf(number: number): string[] {
  if (number === 0) return ['z'];
  const { sign, octave, part } = partsOf(number);
  const at = sign + nameOf(octave);
  const digits = part.toString(PARTS).padStart(2, '0');
  return [at, at + digits[0], at + digits];
}

function partsOf(number: number): {
  readonly sign: 'm' | 'p';
  readonly octave: number;
  readonly part: number;
} {
  const size = Math.abs(number);
  const exact = Math.floor(Math.log2(size));
  const octave = Math.max(-OCTAVE_MAX, Math.min(OCTAVE_MAX, exact));
  // What is beyond all octaves lies in the last part of the last, or the first of the first.
  const share = Math.max(0, Math.min(1, size / 2 ** octave - 1));
  const part = Math.min(PARTS * PARTS - 1, Math.floor(share * PARTS * PARTS));
  return { sign: number < 0 ? 'm' : 'p', octave: octave + OCTAVE_MAX, part };
}

function nameOf(octave: number): string {
  return String(octave).padStart(3, '0');
}

/** The places in which all numbers lie that stand in this order to the given one; some others may, too. */
export function placesFor(operator: Operator, number: number): string[] {
  if (operator === '=') return [placesOf(number).at(-1)!];
  const isAbove = operator.startsWith('>');
  if (number === 0) return ['z', ...octavesOf(isAbove ? 'p' : 'm', 0, 2 * OCTAVE_MAX)];
  const { sign, octave, part } = partsOf(number);
  // Below zero, what is above lies nearer to it.
  const isOutward = isAbove === (sign === 'p');
  const own = partsFrom(sign + nameOf(octave), part, isOutward);
  return isOutward
    ? [...own, ...octavesOf(sign, octave + 1, 2 * OCTAVE_MAX)]
    : [
        ...own,
        ...octavesOf(sign, 0, octave - 1),
        'z',
        ...octavesOf(sign === 'p' ? 'm' : 'p', 0, 2 * OCTAVE_MAX),
      ];
}

/** The parts of an octave from one on, outward or inward, that one included. */
function partsFrom(octave: string, part: number, isOutward: boolean): string[] {
  const [first, second] = [Math.floor(part / PARTS), part % PARTS];
  const beyond = (digit: number, from: number) => (isOutward ? digit > from : digit < from);
  const digits = Array.from({ length: PARTS }, (_, digit) => digit);
  const firstDigit = octave + first.toString(PARTS);
  return [
    ...digits.filter((digit) => beyond(digit, first)).map((digit) => octave + digit.toString(PARTS)),
    ...digits
      .filter((digit) => digit === second || beyond(digit, second))
      .map((digit) => firstDigit + digit.toString(PARTS)),
  ];
}

function octavesOf(sign: 'm' | 'p', first: number, last: number): string[] {
  const octaves: string[] = [];
  for (let octave = first; octave <= last; octave++) octaves.push(sign + nameOf(octave));
  return octaves;
}
