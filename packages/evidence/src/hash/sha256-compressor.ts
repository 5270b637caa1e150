// Where SHA-256 runs: a memory, laid out as sha256-module.ts says, and the compression function over it. It is
// the best that the platform allows: WebAssembly with vectors, WebAssembly without them, or plain TypeScript
// (an old browser may lack WebAssembly, a content security policy may forbid it). All give the same hashes.

import { writeU64 } from '../bytes.ts';
import { INITIAL_AT, PAGE_BYTES, sha256Module } from './sha256-module.ts';
import { BLOCK_BYTES, compress, DIGEST_BYTES, INITIAL_STATE } from './sha256.ts';

export interface Compressor {
  /** All of the memory, as bytes and as words; both are made anew by grow(). */
  bytes: Uint8Array;
  words: Int32Array;
  /** For words that are not aligned. */
  view: DataView;
  /** Continues the hash at `from` over the blocks at `at`, at least one, and writes it to `to`. */
  compress: (from: number, to: number, at: number, blocks: number) => void;
  /** Hashes four messages of equally many blocks, in the time of two by compress. */
  compress4: Compress4 | undefined;
  /** Makes the memory at least so large. */
  grow: (bytesMin: number) => void;
}

type Compress4 = (
  to0: number,
  to1: number,
  to2: number,
  to3: number,
  at0: number,
  at1: number,
  at2: number,
  at3: number,
  blocks: number,
) => void;

export type MakeCompressor = () => Compressor;

let makeBest: MakeCompressor | undefined;

export function makeCompressor(): Compressor {
  makeBest ??= [vectorCompressor, wordCompressor].find(works) ?? plainCompressor;
  return makeBest();
}

function works(make: MakeCompressor): boolean {
  try {
    make();
    return true;
  } catch {
    return false;
  }
}

// The little of WebAssembly's interface that is used here; the types at hand do not have it.
type WasmModule = object;
type WasmExports = Pick<Compressor, 'compress' | 'compress4'> & {
  memory: { readonly buffer: ArrayBuffer; grow: (pages: number) => number };
};
declare const WebAssembly: {
  Module: new (bytes: Uint8Array<ArrayBuffer>) => WasmModule;
  Instance: new (module: WasmModule) => { readonly exports: WasmExports };
};

let vectorModule: WasmModule | undefined;
let wordModule: WasmModule | undefined;

export function vectorCompressor(): Compressor {
  vectorModule ??= new WebAssembly.Module(sha256Module({ simd: true }));
  return instantiate(vectorModule);
}

export function wordCompressor(): Compressor {
  wordModule ??= new WebAssembly.Module(sha256Module({ simd: false }));
  return instantiate(wordModule);
}

function instantiate(module: WasmModule): Compressor {
  const { memory, compress, compress4 } = new WebAssembly.Instance(module).exports;
  const compressor: Compressor = {
    ...viewsOf(memory.buffer),
    compress,
    compress4,
    grow: (bytesMin) => {
      const missing = bytesMin - memory.buffer.byteLength;
      if (missing > 0) memory.grow(Math.ceil(missing / PAGE_BYTES));
      Object.assign(compressor, viewsOf(memory.buffer));
    },
  };
  return compressor;
}

export function plainCompressor(): Compressor {
  const compressor: Compressor = {
    ...viewsOf(new ArrayBuffer(PAGE_BYTES)),
    compress: (from, to, at, blocks) => compress(compressor.bytes, from, to, at, blocks),
    compress4: undefined,
    grow: (bytesMin) => {
      const pages = Math.ceil(Math.max(bytesMin, compressor.bytes.length) / PAGE_BYTES);
      const { bytes } = compressor;
      Object.assign(compressor, viewsOf(new ArrayBuffer(pages * PAGE_BYTES)));
      compressor.bytes.set(bytes);
    },
  };
  const view = new DataView(compressor.bytes.buffer);
  for (const [i, word] of INITIAL_STATE.entries()) view.setUint32(INITIAL_AT + 4 * i, word);
  return compressor;
}

function viewsOf(memory: ArrayBuffer): Pick<Compressor, 'bytes' | 'words' | 'view'> {
  return { bytes: new Uint8Array(memory), words: new Int32Array(memory), view: new DataView(memory) };
}

/** The hash at an offset, in an array of its own: for so few bytes a loop is faster than slice(). */
export function digestAt(bytes: Uint8Array, at: number): Uint8Array {
  const digest = new Uint8Array(DIGEST_BYTES);
  for (let i = 0; i < DIGEST_BYTES; i++) digest[i] = bytes[at + i]!;
  return digest;
}

/** How many blocks a message of so many bytes fills once it is padded. */
export function blocksOf(length: number): number {
  return (length + 8 + BLOCK_BYTES) >>> 6;
}

/**
 * Ends the message of which `length` bytes stand at `at`, a multiple of 4, and `lengthBefore` bytes are hashed
 * already: 0x80, zeros, its whole length in bits (FIPS 180-4, 5.1.1). Returns the number of blocks at `at`.
 */
export function pad({ bytes, words }: Compressor, at: number, length: number, lengthBefore = 0): number {
  const blocks = blocksOf(length);
  const bitsAt = at + blocks * BLOCK_BYTES - 8;
  let next = at + length;
  bytes[next++] = 0x80;
  while ((next & 3) !== 0) bytes[next++] = 0;
  for (let i = next >>> 2; i < bitsAt >>> 2; i++) words[i] = 0;
  const total = lengthBefore + length;
  if (total < 0x2000) {
    // Nearly every message: its length in bits has two bytes.
    words[bitsAt >>> 2] = 0;
    words[(bitsAt >>> 2) + 1] = 0;
    bytes[bitsAt + 6] = total >>> 5;
    bytes[bitsAt + 7] = total << 3;
  } else writeU64(bytes, bitsAt, total * 8);
  return blocks;
}
