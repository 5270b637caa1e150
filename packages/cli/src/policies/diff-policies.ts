// tallystick policies diff: prints what `apply` would change, line by line, as YAML. Returns the exit code, like diff: 0 if
// nothing differs, 1 if something does, 2 if the comparison fails.

import { EXIT } from '../cannot-run.ts';
import { diffHunks, diffLines } from '../output/line-diff.ts';
import type { LineOutput } from '../output/line-output.ts';
import { paint } from '../output/paint.ts';
import { printable } from '../output/printable.ts';
import { type PlannedChange, plannedChanges } from './planned-changes.ts';
import { readPolicyFiles } from './policy-files.ts';
import { policyForm } from './policy-form.ts';
import type { ServedPolicies } from './served-policies.ts';
import { complainOfErrors, shownName, verdictsOn } from './verdicts.ts';
import { policyYaml } from './write-yaml.ts';

export async function diffPolicies(
  files: readonly string[],
  service: ServedPolicies,
  out: LineOutput,
): Promise<number> {
  const policies = readPolicyFiles(files);
  // Unknown members of an invalid policy could not be compared.
  if (complainOfErrors(await verdictsOn(policies, service))) return EXIT.wrongUsage;
  const changes = (await plannedChanges(policies, service)).filter(({ kind }) => kind !== 'Unchanged');
  for (const change of changes) await out.write(shownChange(change));
  return changes.length === 0 ? EXIT.done : EXIT.failed;
}

function shownChange({ from, served, form }: PlannedChange): string[] {
  const before = served === undefined ? [] : policyYaml(policyForm(served));
  const version = served === undefined ? 'not there' : `version ${served.version}`;
  return [
    paint('bold', `--- ${shownName(from)} (${version})`),
    paint('bold', `+++ ${printable(`${from.file}:${from.lineOf('')}`)}`),
    ...diffHunks(diffLines(before, policyYaml(form))).map(painted),
  ];
}

function painted(line: string): string {
  if (line.startsWith('-')) return paint('red', line);
  return line.startsWith('+') ? paint('green', line) : line;
}
