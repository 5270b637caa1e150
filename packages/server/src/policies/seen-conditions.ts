// Whether conditions are about nothing but what a reader sees of an event. That any other rule matches would tell what is withheld.

import type { EventRedaction } from '@tallystick/contract';
import type { Condition } from './condition.ts';
import { isContentRoot } from './condition-path.ts';

/** Content that is withheld in part counts as withheld: a condition may ask for all of it, or for any element of a list. */
export function areSeen(conditions: readonly Condition[], redaction: EventRedaction | undefined): boolean {
  const withheld = redaction?.fields ?? [];
  return conditions.every(({ path: [root, member] }) =>
    isContentRoot(root)
      ? !withheld.some((field) => field === root || field.startsWith(`${root}.`))
      : !withheld.includes(`${root}.${member}`),
  );
}
