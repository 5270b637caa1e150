// Paths below context and payload, as they are written: `payload.lines[0].sku`, `payload.lines[*].sku`, and
// `payload."a key".x` for a key with other characters than letters, digits, `_`, `-`, `$` and `@`.

/** The key of a member, or the index of an element. */
export type PathStep = string | number;

/** A step of a query: null is any element. */
export type QueryStep = PathStep | null;

const PLAIN_KEY = /^[\p{L}\p{N}\p{M}_$@-]+$/u;

export function formatPath([first, ...rest]: readonly QueryStep[]): string {
  return [first, ...rest.map(formatStep)].join('');
}

function formatStep(step: QueryStep): string {
  if (step === null) return '[*]';
  if (typeof step === 'number') return `[${step}]`;
  return PLAIN_KEY.test(step) ? `.${step}` : `.${quote(step)}`;
}

export function quote(text: string): string {
  return `"${text.replaceAll(/["\\]/g, '\\$&')}"`;
}

/**
 * Whether the value at a path is one that a query's path speaks of. A key goes into every element of the lists in its
 * way, and a list at the end stands for each of its elements: `payload.lines.sku` is `payload.lines[*].sku`. One step
 * alone, `payload`, is all that is below it.
 */
export function leadsTo(steps: readonly QueryStep[], path: readonly PathStep[]): boolean {
  if (steps.length === 1) return steps[0] === path[0];
  let at = 0;
  for (const step of steps) {
    if (typeof step === 'string') at = afterElements(path, at);
    const found = path[at++];
    if (step === null ? typeof found !== 'number' : found !== step) return false;
  }
  return afterElements(path, at) >= path.length;
}

function afterElements(path: readonly PathStep[], from: number): number {
  let at = from;
  while (at < path.length && typeof path[at] === 'number') at++;
  return at;
}
