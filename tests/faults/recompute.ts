// From the stored texts and seeds of an event to its group roots and its content hash, as docs/formats/event.md has it,
// by SHA-256 alone and with none of our code. Values are hashed as the pieces of text that they are.

import { hash } from 'node:crypto';

export interface Recomputed {
  readonly roots: readonly [Buffer, Buffer];
  readonly content: Buffer;
}

/** `seeds` are the two seeds of 16 bytes, one behind the other. */
export function recomputed(texts: readonly [string, string], seeds: Uint8Array): Recomputed {
  const roots = [
    rootOf(1, texts[0], seeds.subarray(0, 16)),
    rootOf(2, texts[1], seeds.subarray(16, 32)),
  ] as const;
  return { roots, content: sha256(label('c'), ...roots) };
}

/** Of a tree with these leaves, as docs/formats/tree.md has it. */
export function treeRootOf(leaves: readonly Uint8Array[]): Buffer {
  if (leaves.length === 0) return sha256();
  let level: Buffer[] = leaves.map((leaf) => Buffer.from(leaf));
  // A node without a sibling goes up as it is, which is the same tree as that of RFC 6962.
  while (level.length > 1) {
    const pairs: Buffer[] = [];
    for (let i = 0; i < level.length; i += 2)
      pairs.push(i + 1 < level.length ? sha256(Buffer.of(1), level[i]!, level[i + 1]!) : level[i]!);
    level = pairs;
  }
  return level[0]!;
}

function rootOf(group: number, text: string, seed: Uint8Array): Buffer {
  const units = unitsOf(text)
    .map(({ path, value }) => ({ tag: sha256(label('t'), Buffer.from(path)), value }))
    .sort((a, b) => Buffer.compare(a.tag, b.tag));
  const pieces = units.flatMap(({ tag, value }, i) => [
    tag,
    sha256(label('f'), saltAt(seed, i), Buffer.from(value)),
  ]);
  return sha256(label('r'), Buffer.of(group, units.length >> 8, units.length & 255), ...pieces);
}

/** Two salts come out of each hash of the seed and a counter. */
function saltAt(seed: Uint8Array, i: number): Buffer {
  const counter = Buffer.alloc(4);
  counter.writeUInt32BE(i >> 1);
  return sha256(seed, counter).subarray(16 * (i & 1), 16 * (i & 1) + 16);
}

interface Unit {
  readonly path: string;
  readonly value: string;
}

function unitsOf(text: string): Unit[] {
  return membersOf(text).flatMap(([field, value]) => {
    const inside = value.startsWith('{') ? membersOf(value) : [];
    const isOpened =
      inside.length > 0 && inside.length <= 240 && inside.every(([key]) => Buffer.byteLength(key) <= 256);
    if (!isOpened) return [{ path: `/${escaped(field)}`, value }];
    return inside.map(([key, inner]) => ({ path: `/${escaped(field)}/${escaped(key)}`, value: inner }));
  });
}

/** The members of an object whose text has no blanks: each key, and the text of its value. */
function membersOf(text: string): [key: string, value: string][] {
  const members: [string, string][] = [];
  for (let at = 1; at < text.length - 1; at++) {
    const keyEnd = endOfString(text, at);
    const valueEnd = endOfValue(text, keyEnd + 1);
    members.push([JSON.parse(text.slice(at, keyEnd)) as string, text.slice(keyEnd + 1, valueEnd)]);
    at = valueEnd;
  }
  return members;
}

function endOfString(text: string, from: number): number {
  let at = from + 1;
  while (text[at] !== '"') at += text[at] === '\\' ? 2 : 1;
  return at + 1;
}

function endOfValue(text: string, from: number): number {
  let depth = 0;
  for (let at = from; ; ) {
    const character = text[at]!;
    if (depth === 0 && (character === ',' || character === '}')) return at;
    if (character === '{' || character === '[') depth += 1;
    if (character === '}' || character === ']') depth -= 1;
    at = character === '"' ? endOfString(text, at) : at + 1;
  }
}

function escaped(token: string): string {
  return token.replaceAll('~', '~0').replaceAll('/', '~1');
}

function label(letter: string): Buffer {
  return Buffer.from(`audit-trail/${letter}1\n\0`);
}

function sha256(...parts: Uint8Array[]): Buffer {
  return hash('sha256', Buffer.concat(parts), 'buffer');
}
