// A filter that a bundle can prove: a list of { path, values }, all of which must hold; a condition holds
// where the unit at `path` has one of `values` (RFC 8785 texts). A bundle that says "complete" under such a
// filter shows every entry of its range, and of each one left out either the deciding unit, open, or that
// there is no such unit. So nobody can leave out a match unseen.

import { compareBytes } from '../bytes.ts';
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
    if (typeof path !== 'string' || !Array.isArray(values) || Object.keys(rest).length > 0) {
      throw unproven('a condition of the filter does not have path and values');
    }
    groupOf(path);
    if (!values.every((value) => typeof value === 'string' && isCanonicalJson(value))) {
      throw unproven(`the filter's values for ${path} are not RFC 8785 texts`);
    }
    return { path, values: values as string[] };
  });
}

/** Whether an event matches; throws where what is shown cannot decide it. */
export function matchesFilter(
  conditions: readonly FilterCondition[],
  shown: ShownEvent,
  index: number,
): boolean {
  let undecided: string | undefined;
  for (const { path, values } of conditions) {
    const found = findUnit(shown, path);
    if (found === 'Withheld') undecided ??= path;
    // One condition that provably fails is enough to leave the event out.
    else if (found === 'Absent' || !values.includes(found.value)) return false;
  }
  if (undecided === undefined) return true;
  throw unproven(`entry ${index} does not show whether it matches at ${undecided}`, index);
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

function unitAt(units: readonly ShownUnit[], path: string): ShownUnit | undefined {
  const { bytes, order } = tagOf(path);
  return units.find((unit) => unit.tag.order === order && compareBytes(unit.tag.bytes, bytes) === 0);
}

function unproven(message: string, index?: number): EvidenceError {
  return new EvidenceError('FILTER_UNPROVEN', message, { index });
}
