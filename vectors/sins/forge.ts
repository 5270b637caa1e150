// What the sins have in common: a map of `<reason>/<sin>` → text, and a forger's tools. Where a forger would know
// better than to leave a wrong checksum, it is made anew, so that a file has the one sin it is named after.

import { toBase64 } from '@tallystick/evidence';
import { resealed as resealedBytes } from '../../packages/evidence/src/testing/forgery.ts';
import { text } from '../samples.ts';

export type Sins = Map<string, string>;

export function resealed(lines: readonly string[]): string {
  return text(resealedBytes(lines));
}

/** Alters a line; the text to be replaced must be there, or the sin would be none. */
export function altered(line: string, from: string | RegExp, to: string): string {
  const changed = line.replace(from, to);
  if (changed === line) throw new Error(`${from} is not in ${line.slice(0, 80)}`);
  return changed;
}

export function withEntry(line: string, change: (entry: Uint8Array) => Uint8Array): string {
  return line.replace(
    /"e":"([^"]+)"/,
    (_all, e: string) => `"e":"${toBase64(change(Buffer.from(e, 'base64')))}"`,
  );
}

export function withByte(line: string, at: number, byte: number): string {
  return withEntry(line, (entry) => Buffer.from(entry).fill(byte, at, at + 1));
}

export function swapped(line: string, a: string, b: string): string {
  return altered(altered(line, a, '\0'), b, a).replace('\0', b);
}
