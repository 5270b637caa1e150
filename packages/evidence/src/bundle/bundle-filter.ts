// A filter that a bundle can prove: a list of { path, values }, all of which must hold; a condition holds
// where the unit at `path` has one of `values` (RFC 8785 texts). A bundle that says "complete" under such a
// filter shows every entry of its range, and of each one that is not shown whole enough to decide: a unit that
// makes a condition fail, or that there is no such unit. So nobody can leave out a match unseen.

import { compareBytes, toBase64 } from '../bytes.ts';
import { canonicalJson, isCanonicalJson } from '../json/canonical-json.ts';
import { EvidenceError } from '../errors.ts';
import { isOpen, type ShownEvent, type ShownUnit } from '../event/shown-event.ts';
import { groupOf, tagOf, tokensOf } from '../event/units.ts';

export interface FilterCondition {
  path: string;
  values: readonly string[];
}

/** Reads the header's `filter` of a complete bundle; null is no condition at all. */
export function parseFilter(filter: unknown): FilterCondition[] {
  if (filter === null) return [];
  if (!Array.isArray(filter) || filter.length === 0) throw unproven('the filter is not a list of conditions');
  return filter.map((condition: unknown) => {
    const { path, values, ...rest } = (condition ?? {}) as Record<string, unknown>;
    if (
      typeof path !== 'string' ||
      !Array.isArray(values) ||
      values.length === 0 ||
      Object.keys(rest).length > 0
    ) {
      throw unproven('a condition of the filter does not have path and values');
    }
    requireProvable(path);
    if (!values.every((value) => typeof value === 'string' && isCanonicalJson(value))) {
      throw unproven(`the filter's values for ${path} are not RFC 8785 texts`);
    }
    return { path, values: values as string[] };
  });
}

export type FilterVerdict = 'Matches' | 'Fails' | 'Deleted';

/**
 * Whether an event matches, or had its deciding unit deleted (`deleted` are tags in base64); throws where what is
 * shown cannot tell.
 */
export function decideFilter(
  conditions: readonly FilterCondition[],
  { shown, deleted }: { shown: ShownEvent; deleted: readonly string[] },
  index: number,
): FilterVerdict {
  let undecided: string | undefined;
  let isDeleted = false;
  for (const { path, values } of conditions) {
    const found = findUnit(shown, path);
    // One condition that provably fails is enough to leave the event out.
    if (found === 'Absent' || (typeof found !== 'string' && !values.includes(found.value))) return 'Fails';
    if (found !== 'Withheld') continue;
    if (deleted.includes(toBase64(tagOf(path).bytes))) isDeleted = true;
    else undecided ??= path;
  }
  if (undecided !== undefined)
    throw unproven(`entry ${index} does not show whether it matches at ${undecided}`, index);
  return isDeleted ? 'Deleted' : 'Matches';
}

function findUnit(shown: ShownEvent, path: string): { value: string } | 'Absent' | 'Withheld' {
  const group = shown[groupOf(path) - 1]!;
  if (!('units' in group)) return 'Withheld';
  const unit = unitAt(group.units, path);
  if (unit !== undefined) return isOpen(unit) ? unit : 'Withheld';
  const [field, key] = tokensOf(path);
  if (key === undefined) return 'Absent';
  // The field may stand as one unit because it has too many keys to be opened.
  const whole = unitAt(group.units, `/${field}`);
  if (whole === undefined) return 'Absent';
  if (!isOpen(whole)) return 'Withheld';
  const fields: unknown = JSON.parse(whole.value);
  if (typeof fields !== 'object' || fields === null || !Object.hasOwn(fields, key)) return 'Absent';
  return { value: canonicalJson((fields as Record<string, unknown>)[key]) };
}

/** A field that is usually opened has no unit of its own, and its absence would prove nothing. */
function requireProvable(path: string): void {
  const group = groupOf(path);
  if (group === 2 && tokensOf(path).length === 1) throw unproven(`no unit can decide the filter at ${path}`);
}

function unitAt(units: readonly ShownUnit[], path: string): ShownUnit | undefined {
  const { bytes, order } = tagOf(path);
  return units.find((unit) => unit.tag.order === order && compareBytes(unit.tag.bytes, bytes) === 0);
}

function unproven(message: string, index?: number): EvidenceError {
  return new EvidenceError('FILTER_UNPROVEN', message, { index });
}
