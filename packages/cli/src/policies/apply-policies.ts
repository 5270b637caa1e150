// tallystick policies apply: creates and changes policies of a service as the files say. All are validated before the first is
// changed, and each is changed only if it still has the version that was compared. A second run changes nothing. Returns the
// exit code.

import type { ErrorDetail } from '@tallystick/contract';
import { sha256, toHex } from '@tallystick/evidence';
import { isAgreed, type YesOption } from '../ask-yes.ts';
import { EXIT } from '../cannot-run.ts';
import { NoAnswer } from '../fetch-bytes.ts';
import { complain, warn } from '../output/complain.ts';
import { counted } from '../output/counted.ts';
import type { LineOutput } from '../output/line-output.ts';
import { type PlannedChange, plannedChanges } from './planned-changes.ts';
import { readPolicyFiles } from './policy-files.ts';
import type { Change } from '../retried-change.ts';
import type { ServedPolicies } from './served-policies.ts';
import {
  complainOfErrors,
  countedPolicies,
  shownName,
  type Verdict,
  verdictsOn,
  warningLines,
} from './verdicts.ts';

export interface ApplyOptions extends YesOption {
  readonly dryRun?: true;
}

export async function applyPolicies(
  files: readonly string[],
  options: ApplyOptions,
  service: ServedPolicies,
  out: LineOutput,
): Promise<number> {
  const policies = readPolicyFiles(files);
  const verdicts = await verdictsOn(policies, service);
  if (complainOfErrors(verdicts)) {
    complain('nothing was changed: not every policy is valid');
    return EXIT.failed;
  }
  const plan = await plannedChanges(policies, service);
  const changes = plan.filter(({ kind }) => kind !== 'Unchanged');
  for (const { from } of changes) for (const line of warningsOf(from, verdicts)) warn(line);
  const isPlanOnly = options.dryRun || changes.length === 0;
  if (isPlanOnly || !options.yes) await out.write([...plan.map(plannedLine), closingLine(plan, 'would be ')]);
  if (isPlanOnly) return EXIT.done;
  if (!(await isAgreed(`Make ${counted(changes.length, 'change')}?`, options))) {
    complain('nothing was changed');
    return EXIT.failed;
  }
  await changeAll(plan, service, out);
  await out.write([closingLine(plan)]);
  return EXIT.done;
}

function warningsOf(from: PlannedChange['from'], verdicts: readonly Verdict[]): string[] {
  const own = verdicts.filter((verdict) => verdict.from === from);
  // What it would match is not shown here.
  const isOfPolicy = ({ field }: ErrorDetail) => field !== 'impact';
  return own.flatMap(({ validation, ...rest }) =>
    warningLines({
      ...rest,
      validation: { ...validation, warnings: validation.warnings.filter(isOfPolicy) },
    }),
  );
}

async function changeAll(
  plan: readonly PlannedChange[],
  service: ServedPolicies,
  out: LineOutput,
): Promise<void> {
  const changeOf = await changesNow();
  for (const [i, planned] of plan.entries()) {
    try {
      await out.write([`${shownName(planned.from)}: ${await make(planned, service, changeOf(planned))}`]);
    } catch (error) {
      const [made, all] = [plan.slice(0, i), plan].map(countChanges);
      warn(`stopped after ${made} of ${counted(all!, 'change')}`);
      throw error;
    }
  }
}

function countChanges(plan: readonly PlannedChange[]): number {
  return plan.filter(({ kind }) => kind !== 'Unchanged').length;
}

/** Says what was done. */
async function make(
  { kind, served, policy, from }: PlannedChange,
  service: ServedPolicies,
  change: Change,
): Promise<string> {
  if (kind === 'Unchanged') return 'unchanged';
  try {
    if (served === undefined) {
      await service.create(policy, change);
      return 'created';
    }
    const { version } = await service.replace(served.policyId, served.version, policy, change);
    return `changed (version ${served.version} → ${version})`;
  } catch (error) {
    throw error instanceof NoAnswer && isConflict(error) ? conflict(shownName(from), error) : error;
  }
}

const CONFLICTS: readonly (string | undefined)[] = ['VERSION_CONFLICT', 'POLICY_NOT_FOUND', 'DUPLICATE_NAME'];

function isConflict({ code }: NoAnswer): boolean {
  return CONFLICTS.includes(code);
}

function conflict(name: string, { status, code }: NoAnswer): NoAnswer {
  return new NoAnswer(
    `someone else has changed the policy ${name} meanwhile (${code}); run tallystick policies diff, then apply again`,
    status,
    code,
  );
}

/**
 * An Idempotency-Key for each change of this run. It contains the time: without it, a policy that is deleted and applied again
 * would get the answer of its first creation.
 */
async function changesNow(): Promise<(planned: PlannedChange) => Change> {
  // Loaded only if there is something to change: it takes a while.
  const { systemClock, wait } = await import('@tallystick/server');
  const begun = systemClock.now();
  return ({ served, policy }) => {
    const what = JSON.stringify([served?.policyId, served?.version, policy]);
    const hash = toHex(sha256(new TextEncoder().encode(what)));
    return { idempotencyKey: `apply-${begun}-${hash}`, wait: (ms) => wait(systemClock, ms) };
  };
}

function plannedLine({ kind, from, served }: PlannedChange): string {
  const name = shownName(from);
  if (kind === 'Unchanged') return `${name}: unchanged`;
  return served === undefined
    ? `${name}: would be created`
    : `${name}: would be changed (version ${served.version})`;
}

function closingLine(plan: readonly PlannedChange[], would = ''): string {
  const countOf = (kind: PlannedChange['kind']) => plan.filter((planned) => planned.kind === kind).length;
  const [created, changed, unchanged] = [countOf('Create'), countOf('Change'), countOf('Unchanged')];
  const counts = [
    ...(created > 0 ? [`${created} ${would}created`] : []),
    ...(changed > 0 ? [`${changed} ${would}changed`] : []),
    ...(unchanged > 0 ? [`${unchanged} unchanged`] : []),
  ];
  return `${countedPolicies(plan.length)}: ${counts.join(', ')}.`;
}
