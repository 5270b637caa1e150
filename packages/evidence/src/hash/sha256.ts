// SHA-256 (FIPS 180-4), synchronous, in plain TypeScript: all that a verifier needs, in Node and in browsers. The service
// hashes faster, by WebAssembly and many messages at a time (sha256-fast.ts, hash-pool.ts); the tests hold that against this.

import { concat, writeU64 } from '../bytes.ts';

/** The hash of the parts, one behind the other, in a fresh array of 32 bytes. */
export type Sha256 = (...parts: readonly Uint8Array[]) => Uint8Array;

export const BLOCK_BYTES = 64;
export const DIGEST_BYTES = 32;

/** Section 5.3.3: the first 32 bits of the fractions of the square roots of the first 8 primes. */
export const INITIAL_STATE: readonly number[] = [
  0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
];

/** Section 4.2.2: the first 32 bits of the fractions of the cube roots of the first 64 primes. */
export const ROUND_CONSTANTS: readonly number[] = [
  0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98,
  0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786,
  0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8,
  0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13,
  0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819,
  0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a,
  0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7,
  0xc67178f2,
];

const STATE_BYTES = new Uint8Array(DIGEST_BYTES);
for (const [i, word] of INITIAL_STATE.entries()) new DataView(STATE_BYTES.buffer).setUint32(4 * i, word);

export const sha256: Sha256 = (...parts) => {
  let length = 0;
  for (const part of parts) length += part.length;
  return digestOf(concat(STATE_BYTES, ...parts, paddingOf(length)));
};

/** A running SHA-256: this package's own, or a faster one that the host has. */
export interface RunningHash {
  update(bytes: Uint8Array): unknown;
  digest(): Uint8Array;
}

/** The hash of a message that comes in pieces, in constant memory. */
export class Sha256Stream implements RunningHash {
  /** The state, and behind it the bytes that do not fill a block yet. */
  #memory: Uint8Array = STATE_BYTES;
  #length = 0;

  update(bytes: Uint8Array): this {
    const memory = concat(this.#memory, bytes);
    const rest = (memory.length - DIGEST_BYTES) % BLOCK_BYTES;
    compress(memory, 0, 0, DIGEST_BYTES, (memory.length - DIGEST_BYTES - rest) / BLOCK_BYTES);
    this.#memory = concat(memory.subarray(0, DIGEST_BYTES), memory.subarray(memory.length - rest));
    this.#length += bytes.length;
    return this;
  }

  /** The hash of all that came so far; more may follow. */
  digest(): Uint8Array {
    return digestOf(concat(this.#memory, paddingOf(this.#length)));
  }
}

/** Section 5.1.1: 0x80, zeros, and the length in bits at the end of a block. */
function paddingOf(length: number): Uint8Array {
  const padding = new Uint8Array(BLOCK_BYTES + 8 - ((length + 8) % BLOCK_BYTES));
  padding[0] = 0x80;
  writeU64(padding, padding.length - 8, length * 8);
  return padding;
}

/** Of a state and the blocks behind it. */
function digestOf(memory: Uint8Array): Uint8Array {
  compress(memory, 0, 0, DIGEST_BYTES, (memory.length - DIGEST_BYTES) / BLOCK_BYTES);
  return memory.slice(0, DIGEST_BYTES);
}

/** Continues the hash whose eight big-endian words stand at `from` over the blocks at `at`; writes it to `to`. */
export function compress(bytes: Uint8Array, from: number, to: number, at: number, blocks: number): void {
  const memory = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (let i = 0; i < 8; i++) state[i] = memory.getInt32(from + 4 * i);
  for (let block = 0; block < blocks; block++) {
    for (let t = 0; t < 16; t++) w[t] = memory.getInt32(at + block * BLOCK_BYTES + 4 * t);
    for (let t = 16; t < 64; t++) w[t] = sigma1(w[t - 2]!) + w[t - 7]! + sigma0(w[t - 15]!) + w[t - 16]!;
    addRounds();
  }
  for (let i = 0; i < 8; i++) memory.setInt32(to + 4 * i, state[i]!);
}

const K = Int32Array.from(ROUND_CONSTANTS);
const state = new Int32Array(8);
const w = new Int32Array(64);

function addRounds(): void {
  let a = state[0]!;
  let b = state[1]!;
  let c = state[2]!;
  let d = state[3]!;
  let e = state[4]!;
  let f = state[5]!;
  let g = state[6]!;
  let h = state[7]!;
  for (let t = 0; t < 64; t++) {
    const t1 = (h + sum1(e) + ((e & f) ^ (~e & g)) + K[t]! + w[t]!) | 0;
    const t2 = (sum0(a) + ((a & b) ^ (a & c) ^ (b & c))) | 0;
    h = g;
    g = f;
    f = e;
    e = (d + t1) | 0;
    d = c;
    c = b;
    b = a;
    a = (t1 + t2) | 0;
  }
  state[0]! += a;
  state[1]! += b;
  state[2]! += c;
  state[3]! += d;
  state[4]! += e;
  state[5]! += f;
  state[6]! += g;
  state[7]! += h;
}

const rotr = (x: number, bits: number): number => (x >>> bits) | (x << (32 - bits));
const sum0 = (x: number): number => rotr(x, 2) ^ rotr(x, 13) ^ rotr(x, 22);
const sum1 = (x: number): number => rotr(x, 6) ^ rotr(x, 11) ^ rotr(x, 25);
const sigma0 = (x: number): number => rotr(x, 7) ^ rotr(x, 18) ^ (x >>> 3);
const sigma1 = (x: number): number => rotr(x, 17) ^ rotr(x, 19) ^ (x >>> 10);
