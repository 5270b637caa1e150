// Whether what a node is about to sign contradicts what another has anchored of the same log.

import { equalBytes } from '@tallystick/evidence';
import type { Anchor } from './anchor.ts';
import { partingAt, partingMessage } from './parting.ts';
import type { TreeHead } from './tree.ts';

/** Why not to sign these heads of one log, for people; undefined where nothing that is anchored speaks against it. */
export function forkIn(
  heads: readonly TreeHead[],
  anchor: Pick<Anchor, 'heads' | 'forks'>,
): string | undefined {
  for (const { origin, size, root } of heads) {
    const fork = anchor.forks().get(origin);
    if (fork !== undefined) return fork;
    const anchored = anchor.heads().get(origin);
    if (anchored?.size === size && !equalBytes(anchored.root, root))
      return `${partingMessage(partingAt(anchored, root))}.`;
  }
  return undefined;
}
