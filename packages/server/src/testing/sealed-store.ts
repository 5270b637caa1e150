// A keyring in memory, and stores that seal with it.

import { CLASSIFICATIONS, type Classification } from '@tallystick/contract';
import { wholeTree } from '../storage/sealing/key-tree.ts';
import type { RingData } from '../storage/sealing/keyring.ts';
import { type OpenSealing, sealedBits } from '../storage/sealing/sealing.ts';

let made = 0;

/** Another one each time. */
export function testRing(fill = 1): RingData {
  const id = fill.toString(16).padStart(16, '0');
  const place = `a test, number ${++made}`;
  return { place, keys: [{ id, createdAtMs: 0, tree: wholeTree(new Uint8Array(32).fill(fill)) }] };
}

/** Seals the content of these classifications; by default of all. */
export function sealingBy(
  ring: RingData = testRing(),
  classifications: readonly Classification[] = CLASSIFICATIONS,
): OpenSealing {
  return async () => ({ ring, sealed: sealedBits(classifications) });
}

/** What an intruder writes beside a box, where a content in the clear has its second text; the second time it is gone again. */
export class TextsBeside {
  readonly #there = new Set<string>();

  of(tenant: string, index: number, text: string): string {
    const name = `${tenant} ${index}`;
    if (this.#there.delete(name)) return '';
    this.#there.add(name);
    return text;
  }
}
