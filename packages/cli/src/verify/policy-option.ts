// What `--policy` asks of a checkpoint: that the witnesses which the file names have cosigned it, as many as it says.

import { EvidenceError, isQuorum, parsePolicy, type WitnessPolicy } from '@tallystick/evidence';
import { CannotRun } from '../cannot-run.ts';
import { readText } from '../read-text.ts';

/** Undefined where none was given; throws CannotRun for a file that cannot be read or holds none. */
export async function policyIn(file: string | undefined): Promise<WitnessPolicy | undefined> {
  if (file === undefined) return undefined;
  let policy: WitnessPolicy;
  try {
    policy = await parsePolicy(readText(file));
  } catch (error) {
    throw error instanceof EvidenceError ? new CannotRun(`${file} is no policy: ${error.message}`) : error;
  }
  // Verdicts name a witness by its key, so two keys of one name could not be told apart.
  const names = policy.witnesses.map(({ verifier }) => verifier.name);
  const twice = names.find((name, i) => names.indexOf(name) !== i);
  if (twice !== undefined) throw new CannotRun(`${file}: two witnesses have keys of the name ${twice}`);
  return policy;
}

/** Throws EvidenceError unless these, whose cosignatures were verified, are a quorum; verdicts name them by their keys. */
export function requireQuorum(keyNames: readonly string[], policy: WitnessPolicy | undefined): void {
  if (policy === undefined) return;
  const cosignedBy = policy.witnesses
    .filter(({ verifier }) => keyNames.includes(verifier.name))
    .map(({ name }) => name);
  if (isQuorum(policy, cosignedBy)) return;
  const who = cosignedBy.join(', ') || 'no witness of the policy';
  throw new EvidenceError('WITNESS_MISSING', `${who} cosigned; that is not the quorum ${policy.quorum}`);
}
