// The containers that are open around the place a scan has come to: which keys an object has had, and the
// path of the place. Keys are compared by what they mean: "a" and "\u0061" are one key.

import { afterCharacters, decodeString } from './json-string.ts';

export interface Container {
  /** The outermost container is level 1; level 0 stands for what is around the whole text. */
  readonly level: number;
  readonly parent: Container | undefined;
  /** Made once and used for every container that is opened inside this one. */
  child: Container | undefined;
  isObject: boolean;
  /** In an array, of the element that the scan is in. */
  index: number;
  /** In an object, where the key of the member that the scan is in stands, without its quotes. */
  keyStart: number;
  keyEnd: number;
  /** How many keys are listed. */
  listedKeys: number;
  /** All keys so far, once they are too many to list or one of them has an escape. */
  names: Set<string> | undefined;
}

/** So many keys of an object are compared one by one, which bounds what keys with one hash can cost. */
const LISTED_KEYS_MAX = 64;

// The listed keys of the object that is open at each level. They outlive a scan because making them costs
// as much time as scanning a small event; a scan is synchronous, so no two ever share them.
let hashes = new Int32Array(0);
let starts = new Int32Array(0);
let ends = new Int32Array(0);

export function aroundText(): Container {
  return newContainer(undefined);
}

export function openInside(parent: Container, isObject: boolean): Container {
  const container = (parent.child ??= newContainer(parent));
  container.isObject = isObject;
  container.index = 0;
  container.listedKeys = 0;
  container.names = undefined;
  return container;
}

function newContainer(parent: Container | undefined): Container {
  const level = parent === undefined ? 0 : parent.level + 1;
  if (hashes.length < (level + 1) * LISTED_KEYS_MAX) makeRoom(2 * (level + 1) * LISTED_KEYS_MAX);
  return {
    level,
    parent,
    child: undefined,
    isObject: false,
    index: 0,
    keyStart: 0,
    keyEnd: 0,
    listedKeys: 0,
    names: undefined,
  };
}

function makeRoom(length: number): void {
  const [oldHashes, oldStarts, oldEnds] = [hashes, starts, ends];
  hashes = new Int32Array(length);
  starts = new Int32Array(length);
  ends = new Int32Array(length);
  hashes.set(oldHashes);
  starts.set(oldStarts);
  ends.set(oldEnds);
}

/** Goes on to the member whose key stands there. */
export function enterMember(object: Container, start: number, end: number): void {
  object.keyStart = start;
  object.keyEnd = end;
}

/** Adds the key that stands there to those of the object; false when it has had that key before. */
export function addKey(
  object: Container,
  bytes: Uint8Array,
  start: number,
  end: number,
  isEscaped: boolean,
): boolean {
  if (object.names === undefined) {
    if (!isEscaped && object.listedKeys < LISTED_KEYS_MAX) return listKey(object, bytes, start, end);
    object.names = listedNames(object, bytes);
  }
  // Many keys with one hash cannot be made up: V8 hashes strings with a secret of the process.
  const { size } = object.names;
  return object.names.add(decodeString(bytes, start, end, isEscaped)).size > size;
}

function listKey(object: Container, bytes: Uint8Array, start: number, end: number): boolean {
  let hash = 0;
  for (let i = start; i < end; i++) hash = (Math.imul(hash, 31) + bytes[i]!) | 0;
  const first = object.level * LISTED_KEYS_MAX;
  const next = first + object.listedKeys;
  for (let i = first; i < next; i++) {
    if (hashes[i] === hash && sameBytes(bytes, starts[i]!, ends[i]!, start, end)) return false;
  }
  hashes[next] = hash;
  starts[next] = start;
  ends[next] = end;
  object.listedKeys++;
  return true;
}

function sameBytes(bytes: Uint8Array, aStart: number, aEnd: number, bStart: number, bEnd: number): boolean {
  if (aEnd - aStart !== bEnd - bStart) return false;
  for (let a = aStart, b = bStart; a < aEnd; a++, b++) if (bytes[a] !== bytes[b]) return false;
  return true;
}

function listedNames(object: Container, bytes: Uint8Array): Set<string> {
  const names = new Set<string>();
  const first = object.level * LISTED_KEYS_MAX;
  for (let i = first; i < first + object.listedKeys; i++) {
    names.add(decodeString(bytes, starts[i]!, ends[i]!, false));
  }
  return names;
}

const IDENTIFIER = /^[A-Za-z_$][A-Za-z0-9_$]*$/;

/** A key may be megabytes long; a path shows so many characters of it and an ellipsis. */
const KEY_CHARACTERS_MAX = 64;

/** `payload.lines[0].sku`; a key that is no identifier stands as in JSON: `payload["unit price"]`. */
export function pathInside(innermost: Container, bytes: Uint8Array): string {
  let path = '';
  for (let at = innermost; at.parent !== undefined; at = at.parent) path = stepInside(at, bytes) + path;
  return path.startsWith('.') ? path.slice(1) : path;
}

function stepInside(container: Container, bytes: Uint8Array): string {
  if (!container.isObject) return `[${container.index}]`;
  const { keyStart, keyEnd } = container;
  const end = afterCharacters(bytes, keyStart, keyEnd, KEY_CHARACTERS_MAX);
  const key = decodeString(bytes, keyStart, end, true) + (end < keyEnd ? '…' : '');
  return IDENTIFIER.test(key) ? `.${key}` : `[${JSON.stringify(key)}]`;
}
