// The working memory of canonicalBytes: its buffers and how far it has come in each. The buffers outlive a call because
// making them costs as much time as writing a small event; a call is synchronous, so no two ever share them. What is
// handed out is a copy.

import { FIELDS, FROM, KEY, ROOT } from './json-outline.ts';
import type { Noted } from './json-string.ts';

const KEPT_BYTES_MAX = 4 * 1024 * 1024;
/** Past so many places, an outline is too large for this way. */
const OUTLINE_LENGTH_MAX = 1024 * 1024;
/** So many places are kept for the members of objects that are open inside of one outlined value. */
export const MEMBERS_LENGTH_MAX = 512 * 1024;
/** How many containers may stand inside one another in any text. */
export const DEPTH_MAX = 256;
/** With one node more for each container that is open. */
const NODES_LENGTH_MAX = OUTLINE_LENGTH_MAX + MEMBERS_LENGTH_MAX + FIELDS * (DEPTH_MAX + 1);
/** Of the array that small outlines share, which lives as long as any of them. */
const SHELF_LENGTH = 4096;
/** The same for small texts. */
const TEXT_SHELF_BYTES = 32 * 1024;
/** How many places the frame of a container takes: its closing, first, node, and isOrdered with isCrowded. */
export const FRAME = 4;
/** Words of four bytes are read and written past the end of what matters. */
const SLACK = 8;

export class CanonicalBuffers implements Noted {
  /** The input, and behind it a zero byte, which stands in no JSON text: it ends every loop. */
  source = new Uint8Array(0);
  sourceWords = new DataView(this.source.buffer);
  length = 0;
  at = 0;

  /** The output; behind it there is always as much room again, in which to put members in order. */
  out = new Uint8Array(0);
  outWords = new DataView(this.out.buffer);
  end = 0;

  /** Of the outline, and of the members of every object that is open. */
  nodes = new Int32Array(0);
  /** After the last node. */
  top = 0;

  /** The innermost container that is open, and how many are: its first node, and that of the value at hand. */
  level = 0;
  closing = 0;
  first = ROOT;
  node = ROOT;
  /** Whether the keys so far ascend. */
  isOrdered = true;
  /** Whether there is no room to keep account of its members: they stay in their order. */
  isCrowded = false;
  /** The same of the containers around it. */
  readonly frames = new Int32Array(FRAME * DEPTH_MAX);
  /** How many levels are outlined here: one less in a member with one of these keys. */
  outlined = 0;
  closedKeys: readonly Uint8Array[] = [];

  /** Whether what is written so far is canonical, and whether it need not be. */
  isCanonical = true;
  isLenient = false;
  /** By node, where the key of the member begins in the input. */
  sources = new Int32Array(0);
  /** Where keys begin that their object had before. */
  repeated: number[] = [];

  /** The members of the object that is put in order: their nodes, and the beginnings of their keys. */
  order = new Int32Array(0);
  beginnings = new Int32Array(0);
  #shelf = new Int32Array(0);
  #shelved = 0;
  #textShelf = new Uint8Array(0);
  #textShelved = 0;
  /** About the number that was scanned last. */
  notes = 0;

  take(bytes: Uint8Array): void {
    const { length } = bytes;
    if (this.source.length < length + SLACK) {
      this.source = new Uint8Array(length + 1024);
      this.sourceWords = new DataView(this.source.buffer);
    }
    this.source.set(bytes);
    this.source[length] = 0;
    this.length = length;
    this.end = 0;
    this.growOut(length);
    this.growNodes(FIELDS);
    this.nodes[ROOT + KEY] = 0;
    this.nodes[ROOT + FROM] = 0;
    this.top = ROOT + FIELDS;
    this.level = 0;
    this.closing = 0;
    this.first = ROOT;
    this.node = ROOT;
    this.isOrdered = true;
    this.isCrowded = false;
    this.isCanonical = true;
    this.repeated = [];
  }

  /** Makes room for a text of so many bytes. */
  growOut(length: number): void {
    if (this.out.length >= 2 * length + SLACK) return;
    const larger = new Uint8Array(3 * length + 1024);
    larger.set(this.out.subarray(0, this.end));
    this.out = larger;
    this.outWords = new DataView(larger.buffer);
  }

  /** Makes room for so many places, if that is not too many; how many are does not depend on earlier calls. */
  growNodes(length: number): boolean {
    if (length > NODES_LENGTH_MAX) return false;
    if (this.nodes.length < length) {
      const larger = new Int32Array(Math.min(2 * length + 1024, NODES_LENGTH_MAX));
      larger.set(this.nodes);
      this.nodes = larger;
      const sources = new Int32Array(larger.length);
      sources.set(this.sources);
      this.sources = sources;
    }
    return true;
  }

  growOrder(members: number): void {
    if (this.order.length >= members) return;
    this.order = new Int32Array(2 * members + 64);
    this.beginnings = new Int32Array(this.order.length);
  }

  /**
   * A copy of the nodes, for an outline to keep. Small ones stand together in a shelf that is made once for many: an
   * array of its own would take longer to make than the outline.
   */
  shelveNodes(): Int32Array {
    const { nodes, top } = this;
    if (top > SHELF_LENGTH / 8) return nodes.slice(0, top);
    if (this.#shelf.length - this.#shelved < top) {
      this.#shelf = new Int32Array(SHELF_LENGTH);
      this.#shelved = 0;
    }
    const place = this.#shelf.subarray(this.#shelved, this.#shelved + top);
    for (let i = 0; i < top; i++) place[i] = nodes[i]!;
    this.#shelved += top;
    return place;
  }

  /** A copy of the output, for a caller that keeps it; small ones share a buffer, as Node's do. */
  shelveText(): Uint8Array {
    const { out, end } = this;
    if (end > TEXT_SHELF_BYTES / 8) return out.slice(0, end);
    if (this.#textShelf.length - this.#textShelved < end) {
      this.#textShelf = new Uint8Array(TEXT_SHELF_BYTES);
      this.#textShelved = 0;
    }
    const from = this.#textShelved;
    this.#textShelf.set(out.subarray(0, end), from);
    this.#textShelved += end;
    return this.#textShelf.subarray(from, this.#textShelved);
  }

  /** Whether a large text has left more memory in use than is worth keeping. */
  get isLarge(): boolean {
    return Math.max(this.source.length, this.out.length, this.nodes.byteLength) > KEPT_BYTES_MAX;
  }
}

/** The output will not be canonical; false to refuse the text for that. */
export function depart(buffers: CanonicalBuffers): boolean {
  buffers.isCanonical = false;
  return buffers.isLenient;
}
