// A running SHA-256 whose state is data: another process, or another thread, goes on with it where the first one has stopped.

import { concat, toHex, writeU64 } from '../bytes.ts';
import { fromHex } from './from-hex.ts';
import { malformed } from '../errors.ts';
import { DIGEST_AT, MESSAGES_AT, PAGE_BYTES } from './sha256-module.ts';
import { sharedCompressor } from './sha256-fast.ts';
import { BLOCK_BYTES, DIGEST_BYTES, INITIAL_STATE, type RunningHash } from './sha256.ts';

export interface Sha256State {
  /** Of the blocks so far, in hex. */
  readonly state: string;
  /** What does not fill a block yet, in hex. */
  readonly rest: string;
  /** Of all bytes so far. */
  readonly length: number;
}

const LENGTH_BYTES = 8;
/** As much fits into the memory of the compressor at once. */
const BLOCKS_MAX = Math.floor((PAGE_BYTES - MESSAGES_AT) / BLOCK_BYTES);

export class ResumableSha256 implements RunningHash {
  #state: Uint8Array;
  #rest: Uint8Array;
  #length: number;

  constructor(from?: Sha256State) {
    this.#state = from === undefined ? initialState() : fromHex(from.state);
    this.#rest = from === undefined ? new Uint8Array() : fromHex(from.rest);
    this.#length = from?.length ?? 0;
    if (this.#state.length !== DIGEST_BYTES || this.#rest.length !== this.#length % BLOCK_BYTES)
      throw malformed('this is no state of a SHA-256');
  }

  get state(): Sha256State {
    return { state: toHex(this.#state), rest: toHex(this.#rest), length: this.#length };
  }

  update(bytes: Uint8Array): this {
    this.#length += bytes.length;
    const missing = this.#rest.length === 0 ? 0 : BLOCK_BYTES - this.#rest.length;
    if (bytes.length < missing) {
      this.#rest = concat(this.#rest, bytes);
      return this;
    }
    if (missing > 0) this.#state = afterBlocks(this.#state, concat(this.#rest, bytes.subarray(0, missing)));
    const end = bytes.length - ((bytes.length - missing) % BLOCK_BYTES);
    this.#state = afterBlocks(this.#state, bytes.subarray(missing, end));
    this.#rest = bytes.slice(end);
    return this;
  }

  /** The hash of all that came so far; more may follow. */
  digest(): Uint8Array {
    const padded = (Math.floor((this.#rest.length + LENGTH_BYTES) / BLOCK_BYTES) + 1) * BLOCK_BYTES;
    const last = new Uint8Array(padded);
    last.set(this.#rest);
    last[this.#rest.length] = 0x80;
    writeU64(last, padded - LENGTH_BYTES, this.#length * 8);
    return afterBlocks(this.#state, last);
  }
}

function initialState(): Uint8Array {
  const bytes = new Uint8Array(DIGEST_BYTES);
  const view = new DataView(bytes.buffer);
  for (const [i, word] of INITIAL_STATE.entries()) view.setUint32(4 * i, word);
  return bytes;
}

/** `bytes` are whole blocks. */
function afterBlocks(state: Uint8Array, bytes: Uint8Array): Uint8Array {
  if (bytes.length === 0) return state;
  const { bytes: memory, compress } = sharedCompressor();
  memory.set(state, DIGEST_AT);
  for (let at = 0; at < bytes.length; at += BLOCKS_MAX * BLOCK_BYTES) {
    const part = bytes.subarray(at, at + BLOCKS_MAX * BLOCK_BYTES);
    memory.set(part, MESSAGES_AT);
    compress(DIGEST_AT, DIGEST_AT, MESSAGES_AT, part.length / BLOCK_BYTES);
  }
  return memory.slice(DIGEST_AT, DIGEST_AT + DIGEST_BYTES);
}
