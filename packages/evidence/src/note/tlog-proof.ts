// Proofs as text (c2sp.org/tlog-proof): that an entry is in a log, to be checked offline.
//
//   c2sp.org/tlog-proof@v1
//   extra <base64>                   only if there is any: what the reader needs to find the leaf; not vouched for
//   index <decimal>
//   <base64 of 32 bytes>             one line per hash of the inclusion proof, the leaf's sibling first
//   <blank line>
//   <the signed checkpoint, as it is>

import { fromBase64, toBase64 } from '../bytes.ts';
import { type OpenedCheckpoint, openCheckpoint, parseCheckpoint, parseDecimal } from './checkpoint.ts';
import { malformed } from '../errors.ts';
import { parseNote, type Verifier } from './note.ts';
import { isCount, isHash } from '../tree/tree.ts';
import { verifyInclusion } from '../tree/verify-inclusion.ts';

export const TLOG_PROOF_HEADER = 'c2sp.org/tlog-proof@v1';
export const TLOG_PROOF_HASHES_MAX = 63;

export interface TlogProof {
  readonly extra?: Uint8Array;
  readonly index: number;
  readonly hashes: readonly Uint8Array[];
  /** A signed note. */
  readonly checkpoint: string;
}

export function formatTlogProof(proof: TlogProof): string {
  requireTlogProof(proof);
  const lines = [TLOG_PROOF_HEADER];
  if (proof.extra !== undefined) lines.push(`extra ${toBase64(proof.extra)}`);
  lines.push(`index ${proof.index}`, ...proof.hashes.map(toBase64), '');
  return `${lines.join('\n')}\n${proof.checkpoint}`;
}

/** Reads the form. What the proof says is to be believed only after `verifyTlogProof`. */
export function parseTlogProof(text: string): TlogProof {
  const split = text.indexOf('\n\n');
  if (split < 0) throw malformed('proof has no blank line before its checkpoint');
  const lines = text.slice(0, split).split('\n');
  if (lines.shift() !== TLOG_PROOF_HEADER) throw malformed(`proof does not begin with ${TLOG_PROOF_HEADER}`);
  const extra = lines[0]?.startsWith('extra ')
    ? fromBase64(lines.shift()!.slice('extra '.length))
    : undefined;
  const indexLine = lines.shift();
  if (!indexLine?.startsWith('index ')) throw malformed('proof has no index line');
  const proof: TlogProof = {
    ...(extra === undefined ? {} : { extra }),
    index: parseDecimal(indexLine.slice('index '.length), 'index'),
    hashes: lines.map(fromBase64),
    checkpoint: text.slice(split + 2),
  };
  requireTlogProof(proof);
  return proof;
}

/** Throws unless a key of the log signed the checkpoint and the leaf is in its tree; gives the checkpoint. */
export async function verifyTlogProof(
  proof: TlogProof,
  { leaf, origin, verifiers }: { leaf: Uint8Array; origin: string; verifiers: readonly Verifier[] },
): Promise<OpenedCheckpoint> {
  const checkpoint = await openCheckpoint(proof.checkpoint, { origin, verifiers });
  const { size, root } = checkpoint;
  verifyInclusion({ leaf, index: proof.index, size, proof: proof.hashes, root });
  return checkpoint;
}

function requireTlogProof({ extra, index, hashes, checkpoint }: TlogProof): void {
  if (extra?.length === 0) throw malformed('proof has an extra line without data');
  if (!isCount(index)) throw malformed(`index is ${index}; it is 0 to 2^53 - 1`);
  if (hashes.length > TLOG_PROOF_HASHES_MAX || !hashes.every(isHash))
    throw malformed(`proof of ${hashes.length} hashes; it has at most ${TLOG_PROOF_HASHES_MAX}, of 32 bytes`);
  parseCheckpoint(parseNote(checkpoint).text);
}
