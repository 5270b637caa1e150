// What a witness answers to a checkpoint (c2sp.org/tlog-witness). It cosigns only what extends the checkpoint that it
// cosigned last, and what it has cosigned is on the disk before anybody sees the cosignature: a crash in between leaves
// a checkpoint that nobody can show cosigned, never a cosignature of one that the witness has forgotten.
//
//   400  the request cannot be read, or its old size is over that of its checkpoint
//   404  the log is not followed
//   403  no signature by a key of the log, or one that fails
//   409  the old size is not the one stored; the body is the stored one
//   422  the checkpoint does not extend the stored one, or the proof does not show it
//   200  stored and cosigned; the body is the cosignature

import {
  type Cosigner,
  EMPTY_ROOT,
  EvidenceError,
  formatTreeSize,
  openNote,
  parseAddCheckpoint,
  type ParsedAddCheckpoint,
  signatureLine,
  toHex,
  TREE_SIZE_CONTENT_TYPE,
  verifyConsistency,
} from '@tallystick/evidence';
import type { Head, Heads } from './heads.ts';
import type { Logs } from './logs.ts';

export interface Witness {
  readonly cosigner: Cosigner;
  readonly logs: Logs;
  readonly heads: Heads;
  readonly nowMs: () => number;
  /** Told of a checkpoint that the log has signed and that contradicts what it signed before. */
  readonly onContradiction: (contradiction: Contradiction) => void;
  /** Told of a log that was cosigned for the first time, and goes on from another by its name. */
  readonly onNewName: (renamed: NewName) => void;
}

/** Whether the new log names the old one as it was cosigned stands in its first entry, which a witness never sees. */
export interface NewName {
  readonly note: string;
  /** What was cosigned last of the log before. */
  readonly stored: string;
}

export interface Contradiction {
  readonly reason: string;
  /** What was refused, signatures and all: with what is stored it may prove a fork. */
  readonly note: string;
  readonly stored: string | undefined;
}

export interface Answer {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
}

export const TEXT = 'text/plain; charset=utf-8';

export async function addCheckpoint(body: Uint8Array, witness: Witness): Promise<Answer> {
  try {
    return await judge(parseAddCheckpoint(decode(body)), witness);
  } catch (error) {
    if (error instanceof Refused) return textAnswer(error.status, error.message);
    if (error instanceof EvidenceError) return textAnswer(400, error.message);
    throw error;
  }
}

async function judge(request: ParsedAddCheckpoint, witness: Witness): Promise<Answer> {
  const { oldSize, note, checkpoint } = request;
  const { origin, size, root } = checkpoint;
  const opened = await openSigned(note, origin, witness.logs);
  if (oldSize > size) throw new Refused(400, `the old size is ${oldSize}, the checkpoint's only ${size}`);
  const latest = witness.heads.latest(origin);
  if (oldSize !== (latest?.size ?? 0)) return conflict(latest);
  const reason = contradictionIn(request, latest);
  if (reason !== undefined) {
    witness.onContradiction({ reason, note, stored: latest?.note });
    throw new Refused(422, reason);
  }
  const cosignature = await witness.cosigner.cosign(opened.text, Math.floor(witness.nowMs() / 1000));
  const lines = [...opened.signatures, cosignature].map(signatureLine);
  const next: Head = { origin, size, root, note: `${opened.text}\n${lines.join('')}` };
  // The commit point. A faster request has moved the log on, and this cosignature is shown to nobody.
  if (!witness.heads.advance(latest, next)) return conflict(witness.heads.latest(origin));
  const before = latest === undefined ? witness.heads.before(origin) : undefined;
  if (before !== undefined) witness.onNewName({ note, stored: before.note });
  return { status: 200, contentType: TEXT, body: signatureLine(cosignature) };
}

/** The note with those of its signatures that are by keys of the log. */
async function openSigned(note: string, origin: string, logs: Logs) {
  const verifiers = await logs.verifiersOf(origin);
  if (verifiers.length === 0) throw new Refused(404, `the log ${JSON.stringify(origin)} is not followed`);
  try {
    return await openNote(note, verifiers);
  } catch (error) {
    if (error instanceof EvidenceError) throw new Refused(403, error.message);
    throw error;
  }
}

/** Why the checkpoint does not extend the latest one, whose size is the old size. */
function contradictionIn({ oldSize, proof, checkpoint }: ParsedAddCheckpoint, latest: Head | undefined) {
  const { size, root } = checkpoint;
  if (size === 0 && toHex(root) !== toHex(EMPTY_ROOT))
    return 'the root of size 0 is not that of the empty tree';
  if (latest === undefined || oldSize === 0) {
    return proof.length === 0 ? undefined : 'from size 0 there is nothing to prove, and there is a proof';
  }
  try {
    verifyConsistency({ from: oldSize, fromRoot: latest.root, to: size, toRoot: root, proof });
    return undefined;
  } catch (error) {
    if (!(error instanceof EvidenceError)) throw error;
    return oldSize === size ? `size ${size} has another root than the one cosigned` : error.message;
  }
}

function conflict(latest: Head | undefined): Answer {
  return { status: 409, contentType: TREE_SIZE_CONTENT_TYPE, body: formatTreeSize(latest?.size ?? 0) };
}

export function textAnswer(status: number, message: string): Answer {
  return { status, contentType: TEXT, body: `${message}\n` };
}

function decode(body: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body);
  } catch {
    throw new Refused(400, 'the request is not valid UTF-8');
  }
}

class Refused extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}
