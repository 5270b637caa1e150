// Where the outer values of a canonical JSON text stand in its bytes, so that a reader can take single members
// or items out of it without scanning it again. A value is named by a number, its node. All nodes are in one
// typed array, each before those inside it and all in the order of the text: an object of its own for each value
// would cost more than finding it.

import { decodeString } from './json-string.ts';

/** The value that is the whole text. */
export const ROOT = 0;

// The fields of a node. What it holds inside follows it directly, so its size leads to its next sibling.
/** Where the characters of the key begin; 0 for an item of an array and for the root. */
export const KEY = 0;
/** Where the value begins and ends. */
export const FROM = 1;
export const TO = 2;
/** How many places of the array the node takes, with all nodes inside it. */
export const SIZE = 3;
/** How many places a node takes by itself. */
export const FIELDS = 4;

const BRACKET = 0x5b;
const BRACE = 0x7b;
/** Between the end of a key and its value there are a quote and a colon. */
const KEY_TO_VALUE = 2;

/** Where the key of a member ends. */
export function keyEnd(nodes: Int32Array, node: number): number {
  return nodes[node + FROM]! - KEY_TO_VALUE;
}

/**
 * The value that is the whole text is `root`. To go through the members of an object or the items of an array:
 *
 *     for (let node = outline.first(parent); node < outline.end(parent); node = outline.next(node)) …
 *
 * Members come in canonical order, items in theirs. A value past the outlined levels has nothing inside it here.
 */
export class JsonOutline {
  readonly root = ROOT;
  readonly bytes: Uint8Array;
  /** All that it knows besides the bytes: enough to make it again, in another thread for instance. */
  readonly nodes: Int32Array;

  constructor(bytes: Uint8Array, nodes: Int32Array) {
    this.bytes = bytes;
    this.nodes = nodes;
  }

  first(parent: number): number {
    return parent + FIELDS;
  }

  end(parent: number): number {
    return parent + this.nodes[parent + SIZE]!;
  }

  next(node: number): number {
    return node + this.nodes[node + SIZE]!;
  }

  /** Where the characters of a member's key begin, behind its quote; 0 for an item and for the root. */
  keyFrom(node: number): number {
    return this.nodes[node + KEY]!;
  }

  /** Where they end. */
  keyTo(node: number): number {
    return keyEnd(this.nodes, node);
  }

  /** Where the value begins in the bytes. */
  from(node: number): number {
    return this.nodes[node + FROM]!;
  }

  /** Where the value ends. */
  to(node: number): number {
    return this.nodes[node + TO]!;
  }

  isObject(node: number): boolean {
    return this.bytes[this.from(node)] === BRACE;
  }

  isList(node: number): boolean {
    return this.bytes[this.from(node)] === BRACKET;
  }

  /** The canonical text of the value: a view of the bytes, not a copy. */
  value(node: number): Uint8Array {
    return this.bytes.subarray(this.from(node), this.to(node));
  }

  /** Whether the value is a member with this key, given as it is spelt in the bytes; makes no string. */
  hasKey(node: number, key: Uint8Array): boolean {
    const start = this.nodes[node + KEY]!;
    if (start === 0 || keyEnd(this.nodes, node) - start !== key.length) return false;
    for (let i = 0; i < key.length; i++) if (this.bytes[start + i] !== key[i]) return false;
    return true;
  }

  /** The key of a member; undefined for an item and for the root. */
  key(node: number): string | undefined {
    const start = this.nodes[node + KEY]!;
    return start === 0 ? undefined : decodeString(this.bytes, start, keyEnd(this.nodes, node), true);
  }

  /** The member of an object with this key, given as it is spelt in the bytes. */
  member(parent: number, key: Uint8Array): number | undefined {
    const end = this.end(parent);
    for (let node = this.first(parent); node < end; node = this.next(node)) {
      if (this.hasKey(node, key)) return node;
    }
    return undefined;
  }
}
