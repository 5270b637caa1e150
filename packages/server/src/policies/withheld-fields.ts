// Fields that a rule may withhold (`redactFields`): paths into context and payload, and the names of actor and resource. A
// withheld field keeps its key; its value is replaced.

import type { PathStep, QueryStep } from '../query/field-path.ts';
import { readSteps } from './condition-path.ts';

/**
 * Names for people. Others say who it was and what it was done to: by them events are counted, and what is shown must stay an
 * event.
 */
const TEXTS: Readonly<Record<string, readonly string[]>> = {
  actor: ['userName', 'serviceName'],
  resource: ['resourceName'],
};
const CONTENT = ['context', 'payload'];

/** The steps of a path that may be withheld, or why it may not. */
export function withholdablePath(written: string): readonly QueryStep[] | string {
  const steps = readSteps(written, true);
  if (typeof steps === 'string') return `is no path: ${steps}`;
  const [root, ...below] = steps;
  if (CONTENT.some((each) => each === root)) return steps;
  const texts = TEXTS[String(root)];
  if (texts === undefined) return 'must lie in payload, context, actor or resource';
  if (below.length === 1 && texts.some((each) => each === below[0])) return steps;
  return `cannot be withheld; of ${String(root)} only ${texts.join(', ')} can`;
}

/** A place in a value: the object or list that it is in, and its key there. */
export type PlaceFound = (path: readonly PathStep[], inside: Holder, key: PathStep) => void;
type Holder = Record<PathStep, unknown>;

/** Tells of every place that the path leads to. `at` is the path of the value. */
export function placesAt(
  value: unknown,
  [step, ...below]: readonly QueryStep[],
  at: readonly PathStep[],
  found: PlaceFound,
): void {
  if (typeof value !== 'object' || value === null || step === undefined) return;
  const inside = value as Holder;
  const keys = step === null ? (Array.isArray(value) ? [...value.keys()] : []) : [step];
  for (const key of keys) {
    if (Array.isArray(value) !== (typeof key === 'number') || !Object.hasOwn(value, key)) continue;
    const path = [...at, key];
    if (below.length === 0) found(path, inside, key);
    else placesAt(inside[key], below, path, found);
  }
}
