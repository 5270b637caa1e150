// Checkpoints (c2sp.org/tlog-checkpoint): a log's statement of its size and root, as a signed note whose
// text has three lines, and whose log key has the origin as its name.
//
//   <origin>
//   <size, decimal without leading zeros>
//   <base64 of the root, 32 bytes>
//
// Other logs may add extension lines, none of them empty. They are read and kept, and never written.

import { equalBytes, fromBase64, toBase64 } from '../bytes.ts';
import { EvidenceError, malformed } from '../errors.ts';
import { type NoteSignature, openNote, parseNote, requireNoteText, type Verifier } from './note.ts';
import { EMPTY_ROOT, HASH_BYTES, isCount, isHash } from '../tree/tree.ts';

export interface Checkpoint {
  readonly origin: string;
  readonly size: number;
  readonly root: Uint8Array;
}

export interface ParsedCheckpoint extends Checkpoint {
  readonly extensions: readonly string[];
}

export interface OpenedCheckpoint extends ParsedCheckpoint {
  /** The text that is signed, extension lines and all. */
  readonly text: string;
  readonly signatures: readonly NoteSignature[];
}

export function formatCheckpoint({ origin, size, root }: Checkpoint): string {
  requireOrigin(origin);
  requireHead(size, root);
  return `${origin}\n${size}\n${toBase64(root)}\n`;
}

export function parseCheckpoint(text: string): ParsedCheckpoint {
  requireNoteText(text);
  const lines = text.slice(0, -1).split('\n');
  const [origin, sizeText, rootText, ...extensions] = lines;
  if (origin === undefined || sizeText === undefined || rootText === undefined || lines.includes(''))
    throw malformed('checkpoint is not three or more lines that are not empty');
  const size = parseDecimal(sizeText, 'tree size');
  const root = fromBase64(rootText);
  requireHead(size, root);
  return { origin, size, root, extensions };
}

/** The checkpoint in a note, if it is of that log and a key of that log signed it. */
export async function openCheckpoint(
  note: string,
  { origin, verifiers }: { origin: string; verifiers: readonly Verifier[] },
): Promise<OpenedCheckpoint> {
  const checkpoint = parseCheckpoint(parseNote(note).text);
  requireSameOrigin('checkpoint', checkpoint.origin, origin);
  for (const { name } of verifiers) requireSameOrigin('key', name, origin);
  const { text, signatures } = await openNote(note, verifiers);
  return { ...checkpoint, text, signatures };
}

/** A size, an index or a time as these formats write it. */
export function parseDecimal(text: string, what: string): number {
  const value = Number(text);
  if (!/^(0|[1-9]\d{0,18})$/.test(text) || !isCount(value))
    throw malformed(`${what} is ${JSON.stringify(text.slice(0, 80))}; it is 0 to 2^53 - 1`);
  return value;
}

function requireHead(size: number, root: Uint8Array): void {
  if (!isCount(size)) throw malformed(`tree size is ${size}; it is 0 to 2^53 - 1`);
  if (!isHash(root)) throw malformed(`root is ${root.length} bytes, not ${HASH_BYTES}`);
  if (size === 0 && !equalBytes(root, EMPTY_ROOT))
    throw malformed('root of size 0 is not that of the empty tree');
}

function requireOrigin(origin: string): void {
  if (origin === '' || origin.includes('\n'))
    throw malformed(`not an origin: ${JSON.stringify(origin.slice(0, 80))}`);
  requireNoteText(`${origin}\n`);
}

export function requireSameOrigin(what: string, found: string, wanted: string): void {
  if (found === wanted) return;
  const message = `the ${what} is of the log ${JSON.stringify(found)}, not of ${JSON.stringify(wanted)}`;
  throw new EvidenceError('ORIGIN_MISMATCH', message);
}
