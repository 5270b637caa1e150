// Writes the WebAssembly module that computes SHA-256. Messages are padded by the caller; hashes stand in memory
// as they are published, big-endian.
//   compress(from, to, at, blocks)  continues the hash at `from` over the blocks at `at`, and writes it to `to`
//   compress4(to0…to3, at0…at3, blocks)  hashes four messages of equally many blocks, the first to `to0`

import { BLOCK_BYTES, DIGEST_BYTES, INITIAL_STATE, ROUND_CONSTANTS } from './sha256.ts';
import {
  CONSTANTS_AT,
  FOUR_WORDS,
  frameAfter,
  ONE_WORD,
  rounds,
  type Frame,
  type Words,
} from './sha256-rounds.ts';
import {
  assembleModule,
  doWhile,
  get,
  i32,
  set,
  tee,
  v128,
  type Code,
  type Func,
  type Local,
} from './wasm-assembler.ts';

export const PAGE_BYTES = 65_536;

/** The hash that every message begins with; the round constants stand before it. */
export const INITIAL_AT = CONSTANTS_AT + 4 * ROUND_CONSTANTS.length;
/** Room for the hash of a single message. */
export const DIGEST_AT = INITIAL_AT + DIGEST_BYTES;
/** From here on memory belongs to the messages; a multiple of BLOCK_BYTES. */
export const MESSAGES_AT = 320;

export function sha256Module({ simd }: { simd: boolean }): Uint8Array<ArrayBuffer> {
  const constants = ROUND_CONSTANTS.flatMap((word) => bigEndian(word).toReversed());
  const data = [...constants, ...INITIAL_STATE.flatMap(bigEndian)];
  return assembleModule(simd ? [compress(), compress4()] : [compress()], 1, data);
}

const bigEndian = (word: number): number[] => [
  word >>> 24,
  (word >>> 16) & 255,
  (word >>> 8) & 255,
  word & 255,
];

function compress(): Func {
  const [from, to, at, blocks] = [0, 1, 2, 3];
  const frame = frameAfter(4, ONE_WORD);
  const swapped = (word: Code): Code => [
    set(frame.t1, word),
    i32.or(
      i32.and(i32.rotl(get(frame.t1), i32.const(8)), i32.const(0x00ff00ff)),
      i32.and(i32.rotr(get(frame.t1), i32.const(8)), i32.const(0xff00ff00)),
    ),
  ];
  const load = (locals: Local[], address: Local): Code =>
    locals.map((local, i) => set(local, swapped(i32.load(get(address), 4 * i))));
  const body = [
    load(frame.state, from),
    eachBlock(ONE_WORD, frame, load(frame.window, at), [at], blocks),
    frame.state.map((word, i) => i32.store(get(to), 4 * i, swapped(get(word)))),
  ];
  return { name: 'compress', i32Params: 4, locals: frame.locals, body };
}

function compress4(): Func {
  const to = [0, 1, 2, 3];
  const at = [4, 5, 6, 7];
  const blocks = 8;
  const frame = frameAfter(9, FOUR_WORDS);
  const { state, window } = frame;
  const rows = frame.spare.slice(0, 4);
  const four = (locals: Local[], i: number): Local[] => locals.slice(4 * i, 4 * i + 4);
  const load = [0, 1, 2, 3].map((i) => [
    rows.map((row, m) => set(row, v128.load(get(at[m]!), 16 * i))),
    transpose(rows, four(window, i), frame.spare.slice(4)),
  ]);
  const store = [0, 1].map((i) => [
    transpose(four(state, i), rows, frame.spare.slice(4)),
    rows.map((row, m) => v128.store(get(to[m]!), 16 * i, get(row))),
  ]);
  const body = [
    state.map((word, i) => set(word, v128.splat(i32.const(INITIAL_STATE[i]!)))),
    eachBlock(FOUR_WORDS, frame, load, at, blocks),
    store,
  ];
  return { name: 'compress4', i32Params: 9, locals: frame.locals, body };
}

/** Compresses one block after the other, at least one, into the state. */
function eachBlock(words: Words, frame: Frame, loadWindow: Code, at: Local[], blocks: Local): Code {
  const { state, before } = frame;
  return doWhile(
    [
      state.map((word, i) => set(before[i]!, get(word))),
      loadWindow,
      rounds(words, frame),
      state.map((word, i) => set(word, words.add(get(word), get(before[i]!)))),
      at.map((address) => set(address, i32.add(get(address), i32.const(BLOCK_BYTES)))),
    ],
    tee(blocks, i32.sub(get(blocks), i32.const(1))),
  );
}

/** Turns four words of each of four messages into four vectors of one word each, or back; swaps their bytes. */
function transpose(from: Local[], to: Local[], spare: Local[]): Code {
  const bytesOf = (word: number): number[] => [4 * word, 4 * word + 1, 4 * word + 2, 4 * word + 3];
  const pick = (a: Local, b: Local, words: number[]): Code =>
    v128.shuffle(get(a), get(b), words.flatMap(bytesOf));
  const pickSwapped = (a: Local, b: Local, words: number[]): Code =>
    v128.shuffle(
      get(a),
      get(b),
      words.flatMap((word) => bytesOf(word).toReversed()),
    );
  return [
    set(spare[0]!, pickSwapped(from[0]!, from[1]!, [0, 4, 1, 5])),
    set(spare[1]!, pickSwapped(from[2]!, from[3]!, [0, 4, 1, 5])),
    set(spare[2]!, pickSwapped(from[0]!, from[1]!, [2, 6, 3, 7])),
    set(spare[3]!, pickSwapped(from[2]!, from[3]!, [2, 6, 3, 7])),
    set(to[0]!, pick(spare[0]!, spare[1]!, [0, 1, 4, 5])),
    set(to[1]!, pick(spare[0]!, spare[1]!, [2, 3, 6, 7])),
    set(to[2]!, pick(spare[2]!, spare[3]!, [0, 1, 4, 5])),
    set(to[3]!, pick(spare[2]!, spare[3]!, [2, 3, 6, 7])),
  ];
}
