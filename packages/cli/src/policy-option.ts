// What `--policy` asks of a checkpoint: that the witnesses which the file names have cosigned it, as many as it says.

import { EvidenceError, isQuorum, parsePolicy, type WitnessPolicy } from '@tallystick/evidence';
import { CannotRun } from './cannot-run.ts';

/** `readText` throws CannotRun for a file that cannot be read. */
export async function policyIn(file: string, readText: (file: string) => string): Promise<WitnessPolicy> {
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

/** The report as it is, if those whose cosignatures were verified are a quorum; throws if not. */
export function requireQuorum<R extends { readonly json: Readonly<Record<string, unknown>> }>(
  report: R,
  policy: WitnessPolicy | undefined,
): R {
  if (policy === undefined) return report;
  const cosignedBy = policy.witnesses
    .filter(({ verifier }) => cosignersIn(report.json).includes(verifier.name))
    .map(({ name }) => name);
  if (isQuorum(policy, cosignedBy)) return report;
  const who = cosignedBy.join(', ') || 'no witness of the policy';
  throw new EvidenceError('WITNESS_MISSING', `${who} cosigned; that is not the quorum ${policy.quorum}`);
}

/** Every verdict on a log names them so; a report without them is one without cosignatures. */
function cosignersIn({ checkpoint }: Readonly<Record<string, unknown>>): readonly unknown[] {
  const named: unknown =
    typeof checkpoint === 'object' && checkpoint !== null && 'cosignedBy' in checkpoint
      ? checkpoint.cosignedBy
      : undefined;
  return Array.isArray(named) ? named : [];
}
