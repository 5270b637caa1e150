// tallystick policies validate: prints whether the policies in files are valid and what they would match. Returns the exit code.

import type { TimeRange } from '@tallystick/contract';
import { EXIT } from '../cannot-run.ts';
import type { LineOutput } from '../output/line-output.ts';
import { paint } from '../output/paint.ts';
import { printable } from '../output/printable.ts';
import { readPolicyFiles } from './policy-files.ts';
import type { ServedPolicies } from './served-policies.ts';
import {
  countedPolicies,
  errorLines,
  impactOf,
  shownName,
  type Verdict,
  verdictsOn,
  warningLines,
} from './verdicts.ts';

export async function validatePolicies(
  files: readonly string[],
  timeRange: TimeRange | undefined,
  service: ServedPolicies,
  out: LineOutput,
): Promise<number> {
  const verdicts = await verdictsOn(readPolicyFiles(files), service, timeRange);
  const valid = verdicts.filter(({ validation }) => validation.valid).length;
  const lines = verdicts.flatMap((verdict) => [
    ...errorLines(verdict),
    ...warningLines(verdict),
    ...(verdict.validation.valid ? [validLine(verdict, timeRange)] : []),
  ]);
  const not = verdicts.length - valid;
  const counts = [`${valid} valid`, ...(not === 0 ? [] : [`${not} not valid`])].join(', ');
  await out.write([
    ...lines,
    paint(not === 0 ? 'green' : 'red', `${countedPolicies(verdicts.length)}: ${counts}.`),
  ]);
  return not === 0 ? EXIT.done : EXIT.failed;
}

function validLine({ from, validation }: Verdict, timeRange: TimeRange | undefined): string {
  const place = printable(`${from.file}:${from.lineOf('')}`);
  return `${place}: ${shownName(from)}: valid; ${impactOf(validation.impact, timeRange)}`;
}
