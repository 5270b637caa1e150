// JSON.parse, without a fault of the engines we run on: V8 (Node 24 and 26 among them) reads an escaped key as
// another one if an object of the same shape was parsed before (nodejs/node#63785), so that one text can change what
// the next one means. Texts without an escaped key are safe. In the others JSON.parse sees the plain keys k0, k1 and so
// on, and each gets its own name back afterwards. Throws EvidenceError, and nothing else.

import { EvidenceError } from '../errors.ts';

const DEPTH_MAX = 256;

const BACKSLASH = 0x5c;

export function parseJson(text: string): unknown {
  if (!hasEscapedKey(text)) return parseNatively(text);
  const keys: string[] = [];
  return withOwnKeys(parseNatively(withPlainKeys(text, keys)), keys, 0);
}

/** For a caller that writes what it read anew and compares the texts: an escaped key cannot pass that. */
export function parseNatively(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (cause) {
    throw new EvidenceError('MALFORMED', 'the text is not JSON', { cause });
  }
}

function hasEscapedKey(text: string): boolean {
  for (let at = text.indexOf('\\'); at !== -1; at = text.indexOf('\\', at)) {
    at = endOfString(text, at);
    if (isKeyEndingAt(text, at)) return true;
  }
  return false;
}

function withPlainKeys(text: string, keys: string[]): string {
  let plain = '';
  let copied = 0;
  for (let at = text.indexOf('"'); at !== -1; at = text.indexOf('"', at)) {
    const end = endOfString(text, at + 1);
    if (isKeyEndingAt(text, end)) {
      plain += `${text.slice(copied, at)}"k${keys.length}"`;
      keys.push(parseNatively(text.slice(at, end)) as string);
      copied = end;
    }
    at = end;
  }
  return plain + text.slice(copied);
}

function withOwnKeys(value: unknown, keys: readonly string[], depth: number): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (depth > DEPTH_MAX) throw new EvidenceError('MALFORMED', `the text is nested over ${DEPTH_MAX} deep`);
  if (Array.isArray(value)) return value.map((item) => withOwnKeys(item, keys, depth + 1));
  const members = Object.entries(value).map(([plain, item]) => {
    return [keys[Number(plain.slice(1))]!, withOwnKeys(item, keys, depth + 1)];
  });
  // A key that stands twice counts where it stands last, and `__proto__` is a key like any other: as JSON.parse has it.
  return Object.fromEntries(members);
}

/** Where the string ends that goes on at `at`, its closing quote included. */
function endOfString(text: string, at: number): number {
  while (at < text.length && text[at] !== '"') at += text.charCodeAt(at) === BACKSLASH ? 2 : 1;
  return at + 1;
}

/** A key is a string with a colon behind it. */
function isKeyEndingAt(text: string, at: number): boolean {
  while (' \n\r\t'.includes(text[at] ?? '-')) at++;
  return text[at] === ':';
}
