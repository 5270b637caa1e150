// Writes WebAssembly modules in their binary format (WebAssembly core specification, chapter 5): as much of it
// as SHA-256 needs. Code is a nested list of bytes in which an instruction stands behind its operands, as on
// the stack machine itself: i32.add(get(a), get(b)) is [get(a), get(b), 0x6a].

export type Code = readonly (number | Code)[];

/** The number of a parameter or local variable of the function being written. */
export type Local = number;

const OPCODE = {
  loop: 0x03,
  end: 0x0b,
  brIf: 0x0d,
  localGet: 0x20,
  localSet: 0x21,
  localTee: 0x22,
  i32Load: 0x28,
  i32Store: 0x36,
  i32Const: 0x41,
  i32LtU: 0x49,
  i32Add: 0x6a,
  i32Sub: 0x6b,
  i32And: 0x71,
  i32Or: 0x72,
  i32Xor: 0x73,
  i32ShrU: 0x76,
  i32Rotl: 0x77,
  i32Rotr: 0x78,
  simd: 0xfd, // a prefix: the opcode itself follows as LEB128
} as const;

const SIMD_OPCODE = {
  v128Load: 0,
  v128Load32Splat: 9,
  v128Store: 11,
  i8x16Shuffle: 13,
  i32x4Splat: 17,
  v128And: 78,
  v128Or: 80,
  v128Xor: 81,
  i32x4Shl: 171,
  i32x4ShrU: 173,
  i32x4Add: 174,
} as const;

const EMPTY_BLOCK = 0x40;
const FUNCTION_TYPE = 0x60;
const SECTION = { type: 1, function: 3, memory: 5, export: 7, code: 10, data: 11 } as const;
const EXPORTED = { function: 0, memory: 2 } as const;

export const get = (local: Local): Code => [OPCODE.localGet, unsigned(local)];
export const set = (local: Local, value: Code): Code => [value, OPCODE.localSet, unsigned(local)];
/** Sets the local and leaves the value on the stack. */
export const tee = (local: Local, value: Code): Code => [value, OPCODE.localTee, unsigned(local)];

/** Does the body, and again as long as the condition after it is not zero. */
export const doWhile = (body: Code, condition: Code): Code => [
  [OPCODE.loop, EMPTY_BLOCK],
  body,
  [condition, OPCODE.brIf, 0],
  OPCODE.end,
];

const binary =
  (...opcode: number[]) =>
  (a: Code, b: Code): Code => [a, b, opcode];

// The zero says that the address is aligned to 2^0 bytes: always true, and only a hint.
const load =
  (...opcode: number[]) =>
  (address: Code, offset: number): Code => [address, opcode, 0, unsigned(offset)];

const store =
  (...opcode: number[]) =>
  (address: Code, offset: number, value: Code): Code => [address, value, opcode, 0, unsigned(offset)];

export const i32 = {
  type: 0x7f,
  const: (value: number): Code => [OPCODE.i32Const, signed(value)],
  load: load(OPCODE.i32Load),
  store: store(OPCODE.i32Store),
  ltU: binary(OPCODE.i32LtU),
  add: binary(OPCODE.i32Add),
  sub: binary(OPCODE.i32Sub),
  and: binary(OPCODE.i32And),
  or: binary(OPCODE.i32Or),
  xor: binary(OPCODE.i32Xor),
  shrU: binary(OPCODE.i32ShrU),
  rotl: binary(OPCODE.i32Rotl),
  rotr: binary(OPCODE.i32Rotr),
};

const simd = (opcode: number): number[] => [OPCODE.simd, ...unsigned(opcode)];

/** A vector of 128 bits; arithmetic and shifts take it as four 32-bit lanes. */
export const v128 = {
  type: 0x7b,
  load: load(...simd(SIMD_OPCODE.v128Load)),
  /** One 32-bit word of memory in all four lanes. */
  load32Splat: load(...simd(SIMD_OPCODE.v128Load32Splat)),
  store: store(...simd(SIMD_OPCODE.v128Store)),
  splat: (word: Code): Code => [word, simd(SIMD_OPCODE.i32x4Splat)],
  /** Sixteen bytes, each chosen by number out of a (0 to 15) and b (16 to 31). */
  shuffle: (a: Code, b: Code, choice: readonly number[]): Code => {
    return [a, b, simd(SIMD_OPCODE.i8x16Shuffle), choice];
  },
  and: binary(...simd(SIMD_OPCODE.v128And)),
  or: binary(...simd(SIMD_OPCODE.v128Or)),
  xor: binary(...simd(SIMD_OPCODE.v128Xor)),
  shl: binary(...simd(SIMD_OPCODE.i32x4Shl)),
  shrU: binary(...simd(SIMD_OPCODE.i32x4ShrU)),
  add: binary(...simd(SIMD_OPCODE.i32x4Add)),
};

/** A function without result, exported under its name; its locals are numbered on from its parameters. */
export interface Func {
  name: string;
  i32Params: number;
  locals: readonly { type: number; count: number }[];
  body: Code;
}

/** Functions, and the memory they share, exported as "memory" and beginning with `data`. */
export function assembleModule(
  functions: readonly Func[],
  pages: number,
  data: readonly number[],
): Uint8Array<ArrayBuffer> {
  const signature = (f: Func): Code => {
    const params = Array.from({ length: f.i32Params }, () => [i32.type]);
    return [FUNCTION_TYPE, list(params), list([])];
  };
  const code = (f: Func): Code =>
    sized([list(f.locals.map(({ type, count }) => [unsigned(count), type])), f.body, OPCODE.end]);
  const exported = (name: string, kind: number, index: number): Code => [text(name), kind, unsigned(index)];
  return Uint8Array.from(
    flatten([
      [0x00, 0x61, 0x73, 0x6d], // "\0asm"
      [0x01, 0x00, 0x00, 0x00], // version 1
      section(SECTION.type, functions.map(signature)),
      section(
        SECTION.function,
        functions.map((_, i) => unsigned(i)),
      ),
      section(SECTION.memory, [[0x00, unsigned(pages)]]), // no upper limit
      section(SECTION.export, [
        exported('memory', EXPORTED.memory, 0),
        ...functions.map((f, i) => exported(f.name, EXPORTED.function, i)),
      ]),
      section(SECTION.code, functions.map(code)),
      section(SECTION.data, [[0x00, i32.const(0), OPCODE.end, unsigned(data.length), data]]),
    ]),
  );
}

function section(id: number, items: readonly Code[]): Code {
  return [id, sized(list(items))];
}

function list(items: readonly Code[]): Code {
  return [unsigned(items.length), items];
}

function sized(code: Code): Code {
  const bytes = flatten(code);
  return [unsigned(bytes.length), bytes];
}

function text(name: string): Code {
  return list(Array.from(name, (character) => [character.charCodeAt(0)]));
}

function flatten(code: Code, into: number[] = []): number[] {
  for (const part of code) {
    if (typeof part === 'number') into.push(part);
    else flatten(part, into);
  }
  return into;
}

/** LEB128: seven bits a byte, lowest first, the top bit says that more follow. */
function unsigned(value: number): number[] {
  const low = value & 0x7f;
  return value < 0x80 ? [low] : [low | 0x80, ...unsigned(value >>> 7)];
}

/** Signed LEB128 of a 32-bit integer: ends where the rest is nothing but the sign. */
function signed(value: number): number[] {
  const low = value & 0x7f;
  const rest = (value | 0) >> 7;
  const complete = rest === (low & 0x40 ? -1 : 0);
  return complete ? [low] : [low | 0x80, ...signed(rest)];
}
