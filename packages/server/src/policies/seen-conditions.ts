// Whether conditions are about nothing but what a reader sees of an event: that another rule matches would tell what is withheld.

import type { EventRedaction } from '@tallystick/contract';
import type { Condition } from './condition.ts';
import { isContentRoot } from './condition-path.ts';

/** Of content that is withheld in part no condition counts: one may ask for all of it, or for any element of a list. */
export function areSeen(conditions: readonly Condition[], redaction: EventRedaction | undefined): boolean {
  const withheld = redaction?.fields ?? [];
  return conditions.every(({ path: [root, member] }) =>
    isContentRoot(root)
      ? !withheld.some((field) => field === root || field.startsWith(`${root}.`))
      : !withheld.includes(`${root}.${member}`),
  );
}
