// Chooses the form of an answer that the caller prefers, by `Accept` (RFC 9110, 12.5.1).

const ELEMENT = /^\s*([^\s/;,]+\/[^\s/;,]+)\s*((?:;[^;]*)*)$/;
const WEIGHT = /^(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/;

/** The media type with the greatest weight; of equal ones, and where none is accepted, the first on offer. */
export function preferredType<T extends string>(
  accept: string | undefined,
  offered: readonly [T, ...T[]],
): T {
  if (accept === undefined) return offered[0];
  const ranges = accept.split(',').flatMap(rangeIn);
  let best = offered[0];
  for (const type of offered) if (weightOf(type, ranges) > weightOf(best, ranges)) best = type;
  return best;
}

interface Range {
  /** `text/plain`, or a part of it replaced by a star. */
  readonly type: string;
  readonly weight: number;
}

/** A malformed media type is ignored. */
function rangeIn(element: string): Range[] {
  const [, type, parameters = ''] = ELEMENT.exec(element) ?? [];
  if (type === undefined) return [];
  const weights = parameters
    .split(';')
    .map((each) => each.split('='))
    .filter(([name = '']) => name.trim().toLowerCase() === 'q');
  const weight = weights[0] === undefined ? '1' : (weights[0][1] ?? '').trim();
  return WEIGHT.test(weight) ? [{ type: type.toLowerCase(), weight: Number(weight) }] : [];
}

/** The range that names the type most closely counts. */
function weightOf(type: string, ranges: readonly Range[]): number {
  const names = [type, `${type.slice(0, type.indexOf('/'))}/*`, '*/*'];
  for (const name of names) {
    const range = ranges.find((each) => each.type === name);
    if (range !== undefined) return range.weight;
  }
  return 0;
}
