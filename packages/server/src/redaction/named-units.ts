// Which units of an event a request to redact names. A field lies below payload or context, or is a name of the actor; one that
// is deeper than a unit takes the whole unit, and a whole payload or context takes all of its units. What this caller does not
// see counts as not there: to name it would otherwise tell that it is.

import { type AuditEvent, type ErrorDetail, LIMITS } from '@tallystick/contract';
import { type Group, splitGroup, toBase64 } from '@tallystick/evidence';
import { fieldOf } from '../events/redacted-at-rest.ts';
import { readSteps } from '../policies/condition-path.ts';
import { placesAt } from '../policies/withheld-fields.ts';
import type { QueryStep } from '../query/field-path.ts';
import { readWritten } from '../written-json.ts';

/** Units by the names of the interface, with their tags in base64. */
export interface NamedUnits {
  /** Ascending. */
  readonly fields: readonly string[];
  readonly tags: readonly string[];
}

const CONTENT = ['context', 'payload'];
const OF_ACTOR = ['userId', 'userName', 'serviceId', 'serviceName'];

const WHERE =
  'must lie below payload or context, or be actor.userId, actor.userName, actor.serviceId or actor.serviceName';

/** The steps of a field that can be redacted, or why it cannot be. */
export function redactableField(written: string): readonly QueryStep[] | string {
  const steps = readSteps(written, true);
  if (typeof steps === 'string') return `is no path: ${steps}`;
  const [root, member] = steps;
  if (CONTENT.some((each) => each === root)) return steps;
  return root === 'actor' && steps.length === 2 && OF_ACTOR.some((each) => each === member) ? steps : WHERE;
}

/** What is wrong with the fields of a request, whatever the event. The schema reports those that are no texts. */
export function faultsOfFields(fields: unknown): ErrorDetail[] {
  if (!Array.isArray(fields) || fields.length > LIMITS.redactFieldsMax) return [];
  return fields.flatMap((value: unknown, i) => {
    if (typeof value !== 'string') return [];
    const steps = redactableField(value);
    return typeof steps === 'string' ? [{ field: `fields[${i}]`, issue: steps, value }] : [];
  });
}

/**
 * The units that hold the fields, or which fields are not there. `texts` are those of the stored event, `shown` is the event as
 * this caller sees it; what is deleted of it already is withheld from nobody in particular.
 */
export function namedUnits(
  fields: readonly string[],
  texts: readonly [string, string],
  shown: Shown,
  deletedPaths: readonly string[] = [],
): NamedUnits | readonly ErrorDetail[] {
  const units = unitsIn(texts);
  const seen = seenOf(shown, deletedPaths);
  const named = new Map<string, string>();
  const missing: ErrorDetail[] = [];
  for (const [i, value] of fields.entries()) {
    const steps = redactableField(value) as readonly QueryStep[];
    const held = isShown(steps, seen) ? units.filter((unit) => holds(unit, steps)) : [];
    if (held.length === 0) missing.push({ field: `fields[${i}]`, issue: 'is not in the event', value });
    for (const { path, tag } of held) named.set(fieldOf(path), tag);
  }
  if (missing.length > 0) return missing;
  const sorted = [...named].toSorted(([one], [other]) => (one < other ? -1 : 1));
  return { fields: sorted.map(([field]) => field), tags: sorted.map(([, tag]) => tag) };
}

/** All units of the fields that are there; used where it does not matter which are missing. */
export function unitsOfFields(
  fields: readonly (readonly QueryStep[])[],
  texts: readonly [string, string],
): readonly string[] {
  const held = unitsIn(texts).filter((unit) => fields.some((steps) => holds(unit, steps)));
  return held.map(({ tag }) => tag);
}

interface NamedUnit {
  /** A JSON pointer. */
  readonly path: string;
  /** Its steps. */
  readonly steps: readonly string[];
  readonly tag: string;
}

function unitsIn(texts: readonly [string, string]): NamedUnit[] {
  return texts.flatMap((text, i) =>
    splitGroup(Buffer.from(text), (i + 1) as Group).units.map(({ path, tag }) => {
      const [, ...steps] = path.split('/').map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
      return { path, steps, tag: toBase64(tag.bytes) };
    }),
  );
}

/** Whether a unit is, holds or is held by what the steps lead to. */
function holds({ steps: [field, member] }: NamedUnit, [root, second]: readonly QueryStep[]): boolean {
  if (field !== root) return false;
  return second === undefined || member === undefined || member === second;
}

type Shown = Pick<AuditEvent, 'actor' | 'context' | 'payload' | 'redaction'>;

/** What this caller sees of it; its content, which may be large, is read once for all fields. */
function seenOf({ actor, context, payload, redaction }: Shown, deletedPaths: readonly string[]) {
  const deleted = new Set(deletedPaths.map(fieldOf));
  const withheld = (redaction?.fields ?? []).filter((field) => !deleted.has(field));
  const event = {
    actor,
    ...(context !== undefined && { context: readWritten(context) }),
    ...(payload !== undefined && { payload: readWritten(payload) }),
  };
  return { withheld, event };
}

function isShown(steps: readonly QueryStep[], { withheld, event }: ReturnType<typeof seenOf>): boolean {
  const [root] = steps;
  if (withheld.some((field) => field === root || field.startsWith(`${String(root)}.`))) return false;
  let isThere = false;
  placesAt(event, steps, [], () => (isThere = true));
  return isThere;
}
