// Has the service validate the policies in files, and words the results: a line for each error and each warning, with its
// place in the file, and how many events the policy would match.

import type { ErrorDetail, PolicyImpact, PolicyValidation, TimeRange } from '@tallystick/contract';
import { complain } from '../output/complain.ts';
import { counted } from '../output/counted.ts';
import { printable } from '../output/printable.ts';
import type { PolicyInFile } from './policy-files.ts';
import type { ServedPolicies } from './served-policies.ts';

export interface Verdict {
  readonly from: PolicyInFile;
  readonly validation: PolicyValidation;
}

const VALUE_MAX = 80;

/** One after the other: the service reads many events for each. */
export async function verdictsOn(
  policies: readonly PolicyInFile[],
  service: ServedPolicies,
  timeRange?: TimeRange,
): Promise<Verdict[]> {
  const verdicts: Verdict[] = [];
  for (const from of policies)
    verdicts.push({ from, validation: await service.validate(from.policy, timeRange) });
  return verdicts;
}

export function errorLines({ from, validation }: Verdict): string[] {
  return validation.errors.map((detail) => lineOf(from, 'error', detail));
}

/** Prints all errors to standard error; whether there are any. */
export function complainOfErrors(verdicts: readonly Verdict[]): boolean {
  for (const verdict of verdicts) for (const line of errorLines(verdict)) complain(line);
  return verdicts.some(({ validation }) => !validation.valid);
}

/** A policy in a file replaces the one of its name, so that the service need not warn of that. */
export function warningLines({ from, validation }: Verdict): string[] {
  const warnings = validation.warnings.filter(({ field }) => field !== 'name');
  return warnings.map((detail) => lineOf(from, 'warning', detail));
}

export function countedPolicies(count: number): string {
  return counted(count, 'policy', 'policies');
}

export function shownName({ name }: PolicyInFile): string {
  return name === undefined ? 'a policy without a name' : printable(name);
}

/** Of a valid policy; on events of the time range, if there is one. */
export function impactOf(impact: PolicyImpact, timeRange: TimeRange | undefined): string {
  const { sampledEvents, matchedEvents, sampleEventIds } = impact;
  const range = timeRange === undefined ? '' : ' of that time';
  if (sampledEvents === 0) return `there are no events${range} to try it on`;
  const newest = sampledEvents === 1 ? '1 event' : `the ${shownCount(sampledEvents)} newest events`;
  const such = matchedEvents === 0 ? '' : `, such as ${sampleEventIds.map(printable).join(', ')}`;
  return `would match ${shownCount(matchedEvents)} of ${newest}${range}${such}`;
}

function shownCount(count: number): string {
  return count.toLocaleString('en');
}

/** `finance.yaml:12: error: Finance: rules[0].effect (rule invoices) …`. */
function lineOf(from: PolicyInFile, what: string, { field, issue, value }: ErrorDetail): string {
  const place = `${from.file}:${from.lineOf(field)}`;
  const member = field === '' ? '' : ` ${field}`;
  const said = value === undefined ? '' : `; it is ${JSON.stringify(value).slice(0, VALUE_MAX)}`;
  return printable(`${place}: ${what}: ${shownName(from)}:${member}${ruleAt(from, field)} ${issue}${said}`);
}

/** The name of the rule that a field belongs to, in parentheses; empty if there is none. */
function ruleAt({ policy }: PolicyInFile, field: string): string {
  const place = /^rules\[(\d+)\]/.exec(field)?.[1];
  const rules: unknown = policy['rules'];
  const rule: unknown = place !== undefined && Array.isArray(rules) ? rules[Number(place)] : undefined;
  const name = typeof rule === 'object' && rule !== null && 'name' in rule ? rule.name : undefined;
  return typeof name === 'string' ? ` (rule ${JSON.stringify(name)})` : '';
}
