// The columns that a request for CSV asks for beside those of every file: values of context and payload, by their paths.

import { type ErrorDetail, LIMITS } from '@tallystick/contract';
import { columnName, type ContentPath } from '@tallystick/evidence';
import { receivedMember } from '../call.ts';
import { readSteps } from '../policies/condition-path.ts';

/** A text says what is wrong with it. */
function readColumn(written: string): ContentPath | string {
  const steps = readSteps(written, true);
  if (typeof steps === 'string') return `is no path: ${steps}`;
  const [root, ...below] = steps;
  if (root !== 'context' && root !== 'payload') return 'must lie in context or payload';
  if (below.length === 0) return `is a column of every file; name a value in it, like ${root}.amount`;
  const single = below.filter((step) => step !== null);
  if (single.length < below.length) return 'must lead to one value: [*] is any element of a list';
  return [root, ...single];
}

/** Of a sound request. */
export function contentColumnsOf(written: readonly string[]): readonly ContentPath[] {
  return written.map(readColumn).filter((path) => typeof path !== 'string');
}

/** The request need not follow the schema. */
export function contentColumnFaults(sent: unknown): ErrorDetail[] {
  const written: unknown = receivedMember(sent, 'contentColumns');
  if (!Array.isArray(written) || written.length === 0) return [];
  // The schema says so: nothing is read of a list that is too long, nor of a path.
  if (written.length > LIMITS.exportContentColumnsMax) return [];
  const faults: ErrorDetail[] = [];
  if (receivedMember(sent, 'format') !== 'CSV')
    faults.push({ field: 'contentColumns', issue: 'needs the format CSV: other formats have no columns' });
  const names = new Set<string>();
  for (const [i, each] of (written as unknown[]).entries()) {
    if (typeof each !== 'string' || each.length > LIMITS.conditionPathLengthMax) continue;
    const path = readColumn(each);
    const name = typeof path === 'string' ? undefined : columnName(path);
    const issue = name === undefined ? path : names.has(name) ? `names ${name} twice` : undefined;
    if (typeof issue === 'string') faults.push({ field: `contentColumns[${i}]`, issue, value: each });
    if (name !== undefined) names.add(name);
  }
  return faults;
}
