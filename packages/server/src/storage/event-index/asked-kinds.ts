// Which kinds and classes a question asks for. Without a filter events alone are found, and whatever this reader may see.

import type { AuditEvent, Classification, SearchFilters } from '@tallystick/contract';

export function kindsOf({ kinds }: SearchFilters): readonly AuditEvent['kind'][] {
  return kinds?.length ? kinds : ['Event'];
}

export function classesOf(
  { classifications }: SearchFilters,
  visible: readonly Classification[],
): readonly Classification[] {
  return classifications?.length ? visible.filter((each) => classifications.includes(each)) : visible;
}
