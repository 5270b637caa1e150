// A filter that a bundle can prove: a list of { path, values }, all of which must hold; a condition holds
// where the unit at `path` has one of `values` (RFC 8785 texts). A bundle that says "complete" under such a
// filter shows every entry of its range, and of each one that is not shown whole enough to decide: a unit that
// makes a condition fail, or that there is no such unit. So nobody can leave out a match unseen.

import { toBase64 } from '../bytes.ts';
import { canonicalJson, isCanonicalJson } from '../json/canonical-json.ts';
import { parseJson } from '../json/parse-json.ts';
import { EvidenceError } from '../errors.ts';
import { compareTags, isOpen, type ShownEvent, type ShownUnit } from '../event/shown-event.ts';
import { groupOf, tagOf, tokensOf } from '../event/units.ts';

/** More would let a short file take a long time. */
const CONDITIONS_MAX = 64;

export interface FilterCondition {
  path: string;
  values: ReadonlySet<string>;
}

/** Reads the header's `filter` of a complete bundle; null is no condition at all. */
export function parseFilter(filter: unknown): FilterCondition[] {
  if (filter === null) return [];
  if (!Array.isArray(filter) || filter.length === 0 || filter.length > CONDITIONS_MAX)
    throw unproven(`the filter is not a list of 1 to ${CONDITIONS_MAX} conditions`);
  const conditions = filter.map(parseCondition);
  if (new Set(conditions.map(({ path }) => path)).size < conditions.length)
    throw unproven('two conditions of the filter have the same path');
  return conditions;
}

function parseCondition(condition: unknown): FilterCondition {
  const { path, values, ...rest } = (condition ?? {}) as Record<string, unknown>;
  const isShaped = typeof path === 'string' && Array.isArray(values) && values.length > 0;
  if (!isShaped || Object.keys(rest).length > 0)
    throw unproven('a condition of the filter does not have path and values, and nothing else');
  requireProvable(path);
  if (!values.every((value) => typeof value === 'string' && isCanonicalJson(value)))
    throw unproven(`the filter's values for ${JSON.stringify(path)} are not RFC 8785 texts`);
  return { path, values: new Set(values as string[]) };
}

export type FilterVerdict = 'Matches' | 'Fails' | 'Deleted';

/**
 * Whether an event matches, or had its deciding unit deleted (`deleted` are tags in base64); throws where what is
 * shown cannot tell.
 */
export function decideFilter(
  conditions: readonly FilterCondition[],
  { shown, deleted }: { shown: ShownEvent; deleted: ReadonlySet<string> },
  index: number,
): FilterVerdict {
  let undecided: string | undefined;
  let isDeleted = false;
  for (const { path, values } of conditions) {
    const found = findUnit(shown, path);
    // One condition that provably fails is enough to leave the event out.
    if (found === 'Absent' || ('value' in found && !values.has(found.value))) return 'Fails';
    if ('value' in found) continue;
    if (found.tag !== undefined && deleted.has(found.tag)) isDeleted = true;
    else undecided ??= path;
  }
  if (undecided !== undefined)
    throw unproven(`entry ${index} does not show whether it matches at ${JSON.stringify(undecided)}`, index);
  return isDeleted ? 'Deleted' : 'Matches';
}

/** The value at a path, that there is none, or the tag of the closed unit that would tell (none for a root). */
type Found = { value: string } | { tag: string | undefined } | 'Absent';

function findUnit(shown: ShownEvent, path: string): Found {
  const group = shown[groupOf(path) - 1]!;
  if (!('units' in group)) return { tag: undefined };
  const unit = unitAt(group.units, path);
  if (unit !== undefined) return isOpen(unit) ? unit : closed(unit);
  const [field, key] = tokensOf(path);
  if (key === undefined) return 'Absent';
  // The field may stand as one unit because it has too many keys to be opened.
  const whole = unitAt(group.units, `/${field}`);
  if (whole === undefined) return 'Absent';
  if (!isOpen(whole)) return closed(whole);
  const fields = parseJson(whole.value);
  const isObject = typeof fields === 'object' && fields !== null && !Array.isArray(fields);
  if (!isObject || !Object.hasOwn(fields, key)) return 'Absent';
  return { value: canonicalJson((fields as Record<string, unknown>)[key]) };
}

function closed({ tag }: ShownUnit): Found {
  return { tag: toBase64(tag.bytes) };
}

/** A field that is usually opened has no unit of its own, and its absence would prove nothing. */
function requireProvable(path: string): void {
  const group = groupOf(path);
  if (group === 2 && tokensOf(path).length === 1) throw unproven(`no unit can decide the filter at ${path}`);
}

function unitAt(units: readonly ShownUnit[], path: string): ShownUnit | undefined {
  const wanted = tagOf(path);
  return units.find(({ tag }) => compareTags(tag, wanted) === 0);
}

function unproven(message: string, index?: number): EvidenceError {
  return new EvidenceError('FILTER_UNPROVEN', message, { index });
}
