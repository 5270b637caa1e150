// The messages between a log and a witness (c2sp.org/tlog-witness). The log asks for a cosignature:
//
//   old <size of the checkpoint that the witness cosigned last, 0 if none>
//   <base64 of 32 bytes>             one line per hash of the consistency proof from there, 63 at most
//   <blank line>
//   <the signed checkpoint, as it is>
//
// and is answered with signature lines, or, where the witness has another size than the log thinks, with that size and
// a newline. Reading believes nothing yet: whose signatures these are is for the reader's keys to say.

import { equalBytes, fromBase64, readU64, toBase64 } from '../bytes.ts';
import { type ParsedCheckpoint, parseCheckpoint, parseDecimal } from '../note/checkpoint.ts';
import { EvidenceError } from '../errors.ts';
import { type NoteSignature, openNote, parseNote, type Verifier } from '../note/note.ts';
import { formatNote } from '../note/signer.ts';
import { EMPTY_ROOT, isCount, isHash } from '../tree/tree.ts';

export const WITNESS_PROOF_HASHES_MAX = 63;
/** The content type of an answer that is a size. */
export const TREE_SIZE_CONTENT_TYPE = 'text/x.tlog.size';

export interface AddCheckpoint {
  readonly oldSize: number;
  /** Empty from size 0, because every tree begins with the empty one. */
  readonly proof: readonly Uint8Array[];
  /** A signed note. */
  readonly note: string;
}

export interface ParsedAddCheckpoint extends AddCheckpoint {
  readonly checkpoint: ParsedCheckpoint;
}

export interface OpenedCosignature {
  readonly signature: NoteSignature;
  readonly timeSeconds: number;
}

export function formatAddCheckpoint({ oldSize, proof, note }: AddCheckpoint): string {
  if (!isCount(oldSize)) throw new EvidenceError('MALFORMED', `old size is ${oldSize}; it is 0 to 2^53 - 1`);
  requireProof(proof);
  parseCheckpoint(parseNote(note).text);
  return `${[`old ${oldSize}`, ...proof.map(toBase64), ''].join('\n')}\n${note}`;
}

export function parseAddCheckpoint(text: string): ParsedAddCheckpoint {
  const split = text.indexOf('\n\n');
  if (split < 0) throw new EvidenceError('MALFORMED', 'request has no blank line before its checkpoint');
  const [oldLine, ...proofLines] = text.slice(0, split).split('\n');
  if (!oldLine?.startsWith('old ')) {
    throw new EvidenceError('MALFORMED', 'request does not begin with the old size');
  }
  const oldSize = parseDecimal(oldLine.slice('old '.length), 'old size');
  const proof = proofLines.map(fromBase64);
  requireProof(proof);
  const note = text.slice(split + 2);
  return { oldSize, proof, note, checkpoint: parseSubmitted(parseNote(note).text) };
}

export function formatTreeSize(size: number): string {
  return `${size}\n`;
}

export function parseTreeSize(text: string): number {
  if (!text.endsWith('\n')) throw new EvidenceError('MALFORMED', 'size does not end in a newline');
  return parseDecimal(text.slice(0, -1), 'size');
}

/**
 * The cosignature in a witness's answer, if it is by that witness and of the checkpoint in the note. Lines by other keys
 * are left aside; one by this witness that fails refuses the answer.
 */
export async function openCosignature(
  note: string,
  answer: string,
  witness: Verifier,
): Promise<OpenedCosignature> {
  const { text } = parseNote(note);
  parseCheckpoint(text);
  const cosigned = `${text}\n${answer}`;
  // An answer with a blank line of its own would make its witness sign for a longer text than ours.
  if (parseNote(cosigned).text !== text) {
    throw new EvidenceError('MALFORMED', 'answer has other lines than signatures');
  }
  const { signatures } = await openNote(cosigned, [witness]);
  const signature = signatures[0]!;
  const timeSeconds = readU64(signature.signature, 0);
  // A time of zero is a statement without a time, which no witness may make of a checkpoint.
  if (timeSeconds === 0) throw new EvidenceError('MALFORMED', `cosignature of ${witness.name} has no time`);
  return { signature, timeSeconds };
}

/**
 * The note with more signatures, in the one order that does not depend on who answered first: those under the log's own
 * name as they stand, then the others by name and key id. A key that signed twice is kept once, the first of them.
 */
export function withSignatures(note: string, more: readonly NoteSignature[]): string {
  const { text, signatures } = parseNote(note);
  const { origin } = parseCheckpoint(text);
  const byKey = new Map<string, NoteSignature>();
  for (const signature of [...signatures, ...more]) {
    const key = `${signature.name}+${signature.keyId}`;
    if (!byKey.has(key)) byKey.set(key, signature);
  }
  const ofLog = [...byKey.values()].filter(({ name }) => name === origin);
  const others = [...byKey].filter(([, { name }]) => name !== origin).sort(([a], [b]) => (a < b ? -1 : 1));
  return formatNote({ text, signatures: [...ofLog, ...others.map(([, signature]) => signature)] });
}

/**
 * A checkpoint of size 0 whose root is not that of the empty tree is well formed and not consistent: a witness has to
 * tell it from one that cannot be read.
 */
function parseSubmitted(text: string): ParsedCheckpoint {
  const [, size, rootText] = text.split('\n');
  if (size !== '0' || rootText === undefined) return parseCheckpoint(text);
  const root = fromBase64(rootText);
  if (!isHash(root) || equalBytes(root, EMPTY_ROOT)) return parseCheckpoint(text);
  return { ...parseCheckpoint(text.replace(`\n0\n${rootText}\n`, `\n0\n${toBase64(EMPTY_ROOT)}\n`)), root };
}

function requireProof(proof: readonly Uint8Array[]): void {
  if (proof.length > WITNESS_PROOF_HASHES_MAX || !proof.every(isHash)) {
    throw new EvidenceError(
      'MALFORMED',
      `proof of ${proof.length} hashes; it has at most ${WITNESS_PROOF_HASHES_MAX}, of 32 bytes`,
    );
  }
}
