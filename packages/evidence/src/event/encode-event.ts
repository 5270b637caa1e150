// An event as a store keeps and hashes it: for each group the RFC 8785 text of its fields, as UTF-8, and where in it
// the value of each unit stands. The text is written once; the same bytes are hashed and stored, and a unit's value
// is a piece of them. Fields are in RFC 8785 order, units by ascending tag as the group root hashes them.

import { utf8 } from '../bytes.ts';
import { canonicalJson } from '../json/canonical-json.ts';
import { byTag } from './shown-event.ts';
import { type Group, groupOf, isOpened, type Tag, tagOf } from './units.ts';

export interface EncodedUnit {
  tag: Tag;
  path: string;
  /** Byte offsets of the value; `to` is the first outside. */
  from: number;
  to: number;
}

export interface EncodedGroup {
  bytes: Uint8Array;
  units: readonly EncodedUnit[];
}

export type EncodedEvent = readonly [EncodedGroup, EncodedGroup];

export function encodeEvent(event: Readonly<Record<string, unknown>>): EncodedEvent {
  const writers = [new GroupWriter(), new GroupWriter()] as const;
  for (const field of Object.keys(event).sort()) {
    const path = `/${escapeToken(field)}`;
    const writer = writers[groupOfField(field) - 1]!;
    writer.key(field);
    const value = event[field];
    if (isOpened(value)) writer.opened(path, value);
    else writer.value(path, value);
  }
  return [writers[0].end(), writers[1].end()];
}

/** Known by the field alone, so that a field which no event has is refused where its unit is named. */
function groupOfField(field: string): Group {
  return field === 'context' || field === 'payload' ? 2 : 1;
}

class GroupWriter {
  #text = '';
  readonly #units: EncodedUnit[] = [];

  key(key: string): void {
    this.#text += `${this.#text === '' ? '{' : ','}${canonicalJson(key)}:`;
  }

  value(path: string, value: unknown): void {
    groupOf(path);
    const from = this.#text.length;
    this.#text += canonicalJson(value);
    this.#units.push({ tag: tagOf(path), path, from, to: this.#text.length });
  }

  opened(path: string, fields: Readonly<Record<string, unknown>>): void {
    let between = '{';
    for (const key of Object.keys(fields).sort()) {
      this.#text += `${between}${canonicalJson(key)}:`;
      this.value(`${path}/${escapeToken(key)}`, fields[key]);
      between = ',';
    }
    this.#text += '}';
  }

  end(): EncodedGroup {
    const text = this.#text === '' ? '{}' : `${this.#text}}`;
    const bytes = utf8(text);
    if (bytes.length !== text.length) this.#countBytes(text);
    return { bytes, units: byTag(this.#units) };
  }

  /** Turns character offsets into byte offsets, unit by unit in the order of the text. */
  #countBytes(text: string): void {
    let characters = 0;
    let bytes = 0;
    const reach = (offset: number): number => {
      bytes += utf8(text.slice(characters, offset)).length;
      characters = offset;
      return bytes;
    };
    for (const unit of this.#units) {
      unit.from = reach(unit.from);
      unit.to = reach(unit.to);
    }
  }
}

/** The token of a path (RFC 6901). */
export function escapeToken(token: string): string {
  return token.includes('~') || token.includes('/')
    ? token.replaceAll('~', '~0').replaceAll('/', '~1')
    : token;
}
