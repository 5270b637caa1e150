// The 64 rounds of SHA-256 (FIPS 180-4, 6.2.2) as WebAssembly, described once for any kind of word: one
// 32-bit word, or a vector of four of them. Everything is in local variables; only the constants are in memory.

import { doWhile, get, i32, set, tee, v128, type Code, type Func, type Local } from './wasm-assembler.ts';

/** Where in memory the round constants stand, little-endian. */
export const CONSTANTS_AT = 0;

/** What the rounds are made of: the arithmetic of one word, or of a vector of words. */
export interface Words {
  type: number;
  load: (address: Code, offset: number) => Code;
  add: (a: Code, b: Code) => Code;
  and: (a: Code, b: Code) => Code;
  xor: (a: Code, b: Code) => Code;
  shr: (x: Local, bits: number) => Code;
  rotr: (x: Local, bits: number) => Code;
}

export const ONE_WORD: Words = {
  ...i32,
  shr: (x, bits) => i32.shrU(get(x), i32.const(bits)),
  rotr: (x, bits) => i32.rotr(get(x), i32.const(bits)),
};

export const FOUR_WORDS: Words = {
  ...v128,
  load: v128.load32Splat,
  shr: (x, bits) => v128.shrU(get(x), i32.const(bits)),
  rotr: (x, bits) => v128.or(v128.shrU(get(x), i32.const(bits)), v128.shl(get(x), i32.const(32 - bits))),
};

/** The local variables of a function over such words. */
export interface Frame {
  /** An address: the constant of the next round of sixteen. */
  constant: Local;
  /** The working variables a to h, and what they were before this block. */
  state: Local[];
  before: Local[];
  /** The last sixteen words of the message schedule. */
  window: Local[];
  t1: Local;
  /** a ^ b of this round and of the one before, in turns. */
  changed: Local[];
  spare: Local[];
  /** The types of all these, as the function declares them. */
  locals: Func['locals'];
}

export function frameAfter(params: number, { type }: Words): Frame {
  let next = params + 1;
  const take = (count: number): Local[] => Array.from({ length: count }, () => next++);
  const [state, before, window, changed, spare] = [take(8), take(8), take(16), take(2), take(8)];
  const t1 = next++;
  const locals = [
    { type: i32.type, count: 1 },
    { type, count: next - params - 1 },
  ];
  return { constant: params, state, before, window, t1, changed, spare, locals };
}

/** Sixteen rounds, then three times sixteen that renew the window: as fast as 64 in a row, and half the code. */
export function rounds(words: Words, frame: Frame): Code {
  const { constant, state, changed } = frame;
  const sixteen = Array.from({ length: 16 }, (_, t) => t);
  const next = i32.add(get(constant), i32.const(64));
  return [
    set(constant, i32.const(CONSTANTS_AT)),
    set(changed[1]!, words.xor(get(state[1]!), get(state[2]!))),
    sixteen.map((t) => round(words, frame, t)),
    doWhile(
      [set(constant, next), sixteen.map((t) => [renew(words, frame, t), round(words, frame, t)])],
      i32.ltU(get(constant), i32.const(CONSTANTS_AT + 192)),
    ),
  ];
}

/** W(t) takes the place of W(t - 16), so that a window of sixteen words is all there is of the schedule. */
function renew({ add, xor, rotr, shr }: Words, { window }: Frame, t: number): Code {
  const w = (i: number): Local => window[i & 15]!;
  const sigma0 = (x: Local): Code => xor(xor(rotr(x, 7), rotr(x, 18)), shr(x, 3));
  const sigma1 = (x: Local): Code => xor(xor(rotr(x, 17), rotr(x, 19)), shr(x, 10));
  return set(w(t), add(add(get(w(t)), sigma0(w(t - 15))), add(get(w(t - 7)), sigma1(w(t - 2)))));
}

/** Instead of moving a to b, b to c and so on, every round gives the same locals the next names. */
function round({ load, add, and, xor, rotr }: Words, frame: Frame, t: number): Code {
  const named = (letter: string): Local => frame.state[('abcdefgh'.indexOf(letter) - t) & 7]!;
  const a = named('a');
  const b = named('b');
  const d = named('d');
  const e = named('e');
  const f = named('f');
  const g = named('g');
  const h = named('h');
  const sum0 = xor(xor(rotr(a, 2), rotr(a, 13)), rotr(a, 22));
  const sum1 = xor(xor(rotr(e, 6), rotr(e, 11)), rotr(e, 25));
  const choice = xor(and(xor(get(f), get(g)), get(e)), get(g));
  // Maj(a, b, c) = ((a ^ b) & (b ^ c)) ^ b, and the a ^ b of one round is the b ^ c of the next.
  const ab = frame.changed[t & 1]!;
  const bc = frame.changed[~t & 1]!;
  const majority = xor(and(tee(ab, xor(get(a), get(b))), get(bc)), get(b));
  const scheduled = add(get(frame.window[t]!), load(get(frame.constant), 4 * t));
  return [
    set(frame.t1, add(add(add(get(h), scheduled), choice), sum1)),
    set(d, add(get(d), get(frame.t1))),
    set(h, add(add(get(frame.t1), majority), sum0)),
  ];
}
