// Keys as they stand in a text, with everything that follows from them: path, tag, group. Found by their bytes, so
// that a key which was seen before is neither decoded nor hashed again. Keys come from callers: the cache has a fixed
// number of places, and a key that lands on another's takes its place.

import { utf8 } from '../bytes.ts';
import { escapeToken } from './encode-event.ts';
import { type Group, KNOWN_PATHS, OPENED_KEY_BYTES_MAX, type Tag, tagFrom, tagOf } from './units.ts';

export interface KnownKey {
  /** The field that it stands under; NO_KEY for a field itself. */
  readonly parent: KnownKey | undefined;
  /** The bytes between the quotes, escapes and all. */
  readonly raw: Uint8Array;
  readonly text: string;
  readonly path: string;
  readonly tag: Tag;
  /** Undefined where no event has a unit at the path. */
  readonly group: Group | undefined;
  /** Longer than the keys of an object that is opened. */
  readonly isTooLong: boolean;
  /** Of the bytes of parent and key: the seed for the hashes of the keys under it. */
  readonly hash: number;
  /** The last key that was seen to come before it in order; its text alone, so that no chain of keys is held. */
  after: string | undefined;
}

const PLACES = 4096;
/** A longer key is not worth keeping. */
const RAW_BYTES_MAX = 256;

export const NO_KEY: KnownKey = {
  parent: undefined,
  raw: new Uint8Array(0),
  text: '',
  path: '',
  tag: tagFrom(new Uint8Array(32)),
  group: undefined,
  isTooLong: false,
  hash: 7,
  after: undefined,
};

export class KeyCache {
  readonly #places: (KnownKey | undefined)[] = Array.from({ length: PLACES }, () => undefined);

  find(parent: KnownKey, hash: number, bytes: Uint8Array, from: number, to: number): KnownKey | undefined {
    const known = this.#places[hash & (PLACES - 1)];
    if (known === undefined || known.hash !== hash || known.parent !== parent) return undefined;
    const { raw } = known;
    if (raw.length !== to - from) return undefined;
    for (let i = 0; i < raw.length; i++) if (raw[i] !== bytes[from + i]) return undefined;
    return known;
  }

  learn(parent: KnownKey, hash: number, raw: Uint8Array, text: string): KnownKey {
    const path = `${parent.path}/${escapeToken(text)}`;
    const isTooLong = utf8(text).length > OPENED_KEY_BYTES_MAX;
    const group = isTooLong ? undefined : groupOfKey(path, parent === NO_KEY ? text : parent.text);
    const key: KnownKey = {
      parent,
      raw: raw.slice(),
      text,
      path,
      tag: group === undefined ? NO_KEY.tag : tagOf(path),
      group,
      isTooLong,
      hash,
      after: undefined,
    };
    if (raw.length <= RAW_BYTES_MAX) this.#places[hash & (PLACES - 1)] = key;
    return key;
  }
}

function groupOfKey(path: string, field: string): Group | undefined {
  if (field === 'context' || field === 'payload') return 2;
  return KNOWN_PATHS.includes(path) ? 1 : undefined;
}
