// Applies a policy to a checkpoint: which of its witnesses have cosigned it, and whether they are enough.

import { type OpenedCheckpoint, openCheckpoint, parseCheckpoint } from '../note/checkpoint.ts';
import { verifyCosignatures } from '../note/cosignature.ts';
import { EvidenceError } from '../errors.ts';
import { parseNote, type Verifier } from '../note/note.ts';
import { isQuorum, type WitnessPolicy } from './policy.ts';

export interface PolicyCosignature {
  /** The name of the witness in the policy. */
  readonly witness: string;
  readonly timeSeconds: number;
}

export interface PolicyVerdict {
  readonly checkpoint: OpenedCheckpoint;
  readonly cosignatures: readonly PolicyCosignature[];
}

/** The witnesses of the policy that cosigned the note, each once. Throws if a cosignature by one of them fails. */
export async function cosignaturesBy(policy: WitnessPolicy, note: string): Promise<PolicyCosignature[]> {
  const verifiers = policy.witnesses.map(({ verifier }) => verifier);
  const found = await verifyCosignatures(note, { witnesses: verifiers, witnessesMin: 0 });
  return found.map(({ name, keyId, timeSeconds }) => {
    const witness = policy.witnesses.find(
      ({ verifier }) => verifier.name === name && verifier.keyId === keyId,
    )!;
    return { witness: witness.name, timeSeconds };
  });
}

/**
 * Throws unless a log of the policy signed the checkpoint and its quorum cosigned it. A policy without logs is for
 * readers who know the log from elsewhere: they give its keys, and where both do, both count.
 */
export async function verifyByPolicy(
  policy: WitnessPolicy,
  note: string,
  logVerifiers: readonly Verifier[] = [],
): Promise<PolicyVerdict> {
  const { origin } = parseCheckpoint(parseNote(note).text);
  const known = [...policy.logs.map(({ verifier }) => verifier), ...logVerifiers];
  const ofLog = new Map(
    known.filter(({ name }) => name === origin).map((verifier) => [verifier.keyId, verifier]),
  );
  if (ofLog.size === 0) {
    throw new EvidenceError('KEY_UNKNOWN', `no key of the log ${JSON.stringify(origin)} was given`);
  }
  const checkpoint = await openCheckpoint(note, { origin, verifiers: [...ofLog.values()] });
  const cosignatures = await cosignaturesBy(policy, note);
  const names = cosignatures.map(({ witness }) => witness);
  if (!isQuorum(policy, names)) {
    throw new EvidenceError(
      'WITNESS_MISSING',
      `${names.join(', ') || 'no witness'} cosigned; that is not the quorum ${policy.quorum}`,
    );
  }
  return { checkpoint, cosignatures };
}
