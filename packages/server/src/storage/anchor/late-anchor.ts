// An anchor that can be passed around before it is open, like the storage beside it.

import { AuditError } from '@tallystick/contract';
import type { Anchor } from '../../streams/anchor/anchor.ts';

export interface LateAnchor extends Anchor {
  /** All calls go to this one from now on; it is closed with this. */
  use(opened: Anchor): void;
}

export function createLateAnchor(): LateAnchor {
  let opened: Anchor | undefined;
  const anchor = (): Anchor => {
    if (opened === undefined) throw new AuditError('SERVICE_UNAVAILABLE', 'The service is starting.');
    return opened;
  };
  return {
    use(other) {
      opened = other;
    },
    heads: () => anchor().heads(),
    forks: () => anchor().forks(),
    history: async () => anchor().history(),
    refresh: async () => anchor().refresh(),
    append: async (heads) => anchor().append(heads),
    async [Symbol.asyncDispose]() {
      await opened?.[Symbol.asyncDispose]();
    },
  };
}
