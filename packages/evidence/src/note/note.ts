// Signed notes (c2sp.org/signed-note): a text that one or more keys have signed.
//
//   <text, ends in a newline>
//   <blank line>
//   — <key name> <base64 of: key id[4] ‖ signature>
//   …one such line per signature
//
// A note is UTF-8 without control characters but newline. The text may have blank lines: the last one
// divides. Signatures by unknown keys are left aside; one by a known key that fails refuses the whole note.

import { fromBase64, toHex, utf8 } from '../bytes.ts';
import { type Ed25519Verifier, ed25519Verifier } from './ed25519.ts';
import { EvidenceError, malformed } from '../errors.ts';
import {
  KEY_ID_BYTES,
  keyIdOf,
  parseVerifierKey,
  requireKeyName,
  SIGNATURE_TYPES,
  type SignatureType,
} from './verifier-key.ts';

export const NOTE_BYTES_MAX = 1_000_000;
export const NOTE_SIGNATURES_MAX = 100;

export interface NoteSignature {
  readonly name: string;
  readonly keyId: string;
  /** What follows the key id: its form depends on the type of the key. */
  readonly signature: Uint8Array;
}

export interface Note {
  readonly text: string;
  readonly signatures: readonly NoteSignature[];
}

export interface Verifier {
  readonly name: string;
  readonly keyId: string;
  readonly verify: (text: string, signature: Uint8Array) => Promise<boolean>;
}

export function noteVerifier(verifierKey: string): Promise<Verifier> {
  return verifierOf(verifierKey, SIGNATURE_TYPES.note, (verify, text, signature) =>
    verify(utf8(text), signature),
  );
}

/** A key of that type; `verify` says whether the key signed, by the Ed25519 signature of the message that it is given. */
export async function verifierOf(
  verifierKey: string,
  type: SignatureType,
  verify: (ed25519: Ed25519Verifier, text: string, signature: Uint8Array) => Promise<boolean>,
): Promise<Verifier> {
  const key = parseVerifierKey(verifierKey);
  if (key.type !== type) throw malformed(`verifier key of ${key.name} is of type ${key.type}, not ${type}`);
  const ed25519 = await ed25519Verifier(key.publicKey);
  return {
    name: key.name,
    keyId: keyIdOf(key),
    verify: (text, signature) => verify(ed25519, text, signature),
  };
}

/** The text of a note and those of its signatures that the verifiers vouch for, each key once. */
export async function openNote(note: string, verifiers: readonly Verifier[]): Promise<Note> {
  const { text, signatures } = parseNote(note);
  const known = new Map(verifiers.map((verifier) => [keyOf(verifier), verifier]));
  if (known.size !== verifiers.length) throw malformed('two verifiers have the same name and key id');
  // Keyed, so that a signature said twice does not count as two.
  const verified = new Map<string, NoteSignature>();
  for (const signature of signatures) {
    const key = keyOf(signature);
    const verifier = known.get(key);
    if (verifier === undefined) continue;
    if (!(await verifier.verify(text, signature.signature)))
      throw new EvidenceError('SIGNATURE_INVALID', `signature by ${key} does not verify`);
    if (!verified.has(key)) verified.set(key, signature);
  }
  if (verified.size === 0)
    throw new EvidenceError('KEY_UNKNOWN', `none of ${signatures.length} signatures is by a known key`);
  return { text, signatures: [...verified.values()] };
}

/** Splits a note without verifying it: nothing in it is to be believed yet. */
export function parseNote(note: string): Note {
  requireNoteText(note);
  const split = note.lastIndexOf('\n\n');
  if (split < 0) throw malformed('note has no blank line before its signatures');
  const text = note.slice(0, split + 1);
  const lines = note.slice(split + 2, -1).split('\n');
  if (lines.length > NOTE_SIGNATURES_MAX)
    throw malformed(`note has ${lines.length} signatures; limit ${NOTE_SIGNATURES_MAX}`);
  return { text, signatures: lines.map(parseSignatureLine) };
}

function parseSignatureLine(line: string): NoteSignature {
  const [dash, name, base64, ...rest] = line.split(' ');
  if (dash !== '—' || name === undefined || base64 === undefined || rest.length > 0)
    throw malformed(`not a signature line: ${JSON.stringify(line.slice(0, 80))}`);
  requireKeyName(name);
  const bytes = fromBase64(base64);
  if (bytes.length <= KEY_ID_BYTES)
    throw malformed(`signature by ${name} is ${bytes.length} bytes, key id and all`);
  return { name, keyId: toHex(bytes.subarray(0, KEY_ID_BYTES)), signature: bytes.subarray(KEY_ID_BYTES) };
}

/** A string with half a surrogate pair has no UTF-8, and would be signed as if it were another one. */
export function requireNoteText(text: string): void {
  const length = text.length > NOTE_BYTES_MAX ? text.length : utf8(text).length;
  if (length > NOTE_BYTES_MAX) throw malformed(`note is ${length} bytes; limit ${NOTE_BYTES_MAX}`);
  if (!text.isWellFormed()) throw malformed('note is not valid Unicode');
  if (!text.endsWith('\n')) throw malformed('note does not end in a newline');
  // oxlint-disable-next-line no-control-regex -- they are what is looked for
  if (/[\u0000-\u0009\u000b-\u001f]/.test(text))
    throw malformed('note has a control character other than newline');
}

function keyOf({ name, keyId }: { name: string; keyId: string }): string {
  return `${name}+${keyId}`;
}
