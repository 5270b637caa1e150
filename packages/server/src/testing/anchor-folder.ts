// A folder for an anchor, and heads to put into it.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { AnchoredHead } from '../streams/anchor/anchor.ts';

export const ORIGIN = 'audit.example.com/t/acme';

export function anchorFolder(): Disposable & { path: string; file: string } {
  const path = mkdtempSync(join(tmpdir(), 'tallystick-anchor-'));
  return { path, file: join(path, 'anchor'), [Symbol.dispose]: () => rmSync(path, { recursive: true }) };
}

export function head(size: number, origin = ORIGIN, fill = size): AnchoredHead {
  return { origin, size, root: new Uint8Array(32).fill(fill) };
}

export function manyHeads(size: number): AnchoredHead[] {
  return Array.from({ length: 10_000 }, (_, i) => head(size, `audit.example.com/t/tenant-${i}`));
}
