// For tests: damage to bytes, numbers and texts, the same for the same seed.

import { textOf, utf8 } from '../bytes.ts';

/** Whole numbers below a bound, the same for the same seed (mulberry32). */
export function seeded(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * below);
  };
}

export function flipBit(bytes: Uint8Array, bit: number): Uint8Array {
  const flipped = Uint8Array.from(bytes);
  flipped[bit >>> 3]! ^= 1 << (bit & 7);
  return flipped;
}

/** A number with one of its 53 bits changed. */
export function flipNumberBit(value: number, bit: number): number {
  return Number(BigInt(value) ^ (1n << BigInt(bit)));
}

/** One to three bytes or runs of bytes changed, taken out, put in or said twice. */
export function mutate(bytes: Uint8Array, random: (below: number) => number): Uint8Array {
  let values = [...bytes];
  for (let edits = 1 + random(3); edits > 0; edits--) {
    const at = random(values.length + 1);
    const run = values.slice(at, at + 1 + random(8));
    const before = values.slice(0, at);
    const after = values.slice(at + run.length);
    values = [
      () => [...before, ...run.with(0, (run[0] ?? 0) ^ (1 << random(8))), ...after],
      () => [...before, random(256), ...run, ...after],
      () => [...before, ...after],
      () => [...before, ...run, ...run, ...after],
      () => [...before, ...run.toReversed(), ...after],
      () => before,
    ][run.length === 0 ? 1 : random(6)]!();
  }
  return Uint8Array.from(values);
}

/** The same for a text; throws MALFORMED where the damage leaves no UTF-8, as a reader of files would. */
export function mutateText(text: string, random: (below: number) => number): string {
  return textOf(mutate(utf8(text), random));
}
