// The rules of a schema, applied to a value in its canonical bytes. A yes is certain; a value that gets a no may still be
// valid, in a rare spelling or by a rule that cannot be applied to bytes.

import { type JsonSchema, PATTERN_OF_FORMAT } from '@tallystick/contract';
import type { JsonOutline } from '@tallystick/evidence';
import { bytePattern } from './byte-pattern.ts';

const QUOTE = 0x22;
/** A character takes so many bytes at most, as the escape of its code. */
const CHARACTER_BYTES_MAX = 6;

/** Lists the places of an object's members where it is given a list. */
export type PlainRule = (outline: JsonOutline, node: number, places?: number[]) => boolean;

interface MemberRule {
  readonly key: Uint8Array;
  readonly isRequired: boolean;
  readonly holds: PlainRule;
}

/** Throws where the schema has a pattern of which no table can be made. */
export function ruleOf(schema: JsonSchema): PlainRule {
  if (schema.type === 'string') return textRule(schema);
  if (schema.type !== 'object') return undecided;
  const { properties, additionalProperties } = schema;
  if (additionalProperties === false) return objectRule(schema);
  return properties === undefined && additionalProperties === true ? isObject : undecided;
}

const undecided: PlainRule = () => false;
const isObject: PlainRule = (outline, node) => outline.isObject(node);

/** The names of the members in the order of RFC 8785, which is that of the bytes and of the listed places. */
export function memberNames({ properties = {} }: JsonSchema): string[] {
  return Object.keys(properties).toSorted();
}

/** An object of these members and no others; of one that is absent, the place is 0. */
function objectRule(schema: JsonSchema): PlainRule {
  const members = memberNames(schema).map(
    (name): MemberRule => ({
      key: Buffer.from(name),
      isRequired: schema.required?.includes(name) ?? false,
      holds: ruleOf(schema.properties![name]!),
    }),
  );
  return (outline, parent, places) => {
    if (!outline.isObject(parent)) return false;
    const end = outline.end(parent);
    let node = outline.first(parent);
    for (let i = 0; i < members.length; i++) {
      const { key, isRequired, holds } = members[i]!;
      if (node < end && outline.hasKey(node, key)) {
        if (!holds(outline, node)) return false;
        places?.push(node);
        node = outline.next(node);
      } else if (isRequired) return false;
      else places?.push(0);
    }
    return node === end;
  };
}

function textRule(schema: JsonSchema): PlainRule {
  const { const: only, enum: words, format, pattern, minLength = 0, maxLength = Infinity } = schema;
  if (words !== undefined || only !== undefined) return wordRule(words ?? [only!]);
  const ofFormat = format === undefined ? undefined : PATTERN_OF_FORMAT[format];
  if (format !== undefined && ofFormat === undefined) return undecided;
  const sources = new Set([pattern, ofFormat].filter((source) => source !== undefined));
  const [first, ...others] = [...sources].map(bytePattern);
  if (others.length > 0) return undecided;
  if (first === undefined) {
    // A character takes at least one byte, so this number of bytes never has too many characters.
    const least = minLength <= 1 ? minLength : CHARACTER_BYTES_MAX * minLength;
    return (outline, node) => isWithin(stringBytes(outline, node), least, maxLength);
  }
  return (outline, node) => {
    // Of what matches, each byte is a character.
    const length = stringBytes(outline, node);
    const from = outline.from(node) + 1;
    return isWithin(length, minLength, maxLength) && first(outline.bytes, from, from + length);
  };
}

function isWithin(value: number, min: number, max: number): boolean {
  return value >= min && value <= max;
}

function wordRule(words: readonly string[]): PlainRule {
  const known = words.map((word) => Buffer.from(word));
  return (outline, node) => known.some((word) => saysWord(outline, node, word));
}

export function saysWord(outline: JsonOutline, node: number, word: Uint8Array): boolean {
  if (stringBytes(outline, node) !== word.length) return false;
  const from = outline.from(node) + 1;
  for (let i = 0; i < word.length; i++) if (outline.bytes[from + i] !== word[i]) return false;
  return true;
}

/** How many bytes stand between the quotes; less than zero for what is no string. */
function stringBytes(outline: JsonOutline, node: number): number {
  const from = outline.from(node);
  return outline.bytes[from] === QUOTE ? outline.to(node) - from - 2 : -1;
}
