// The tampering of a forger of bundles, and the assertion that it is found.

import assert from 'node:assert/strict';
import { textOf, toHex, utf8 } from '../bytes.ts';
import { verifyBundle } from '../bundle/verify-bundle.ts';
import { EvidenceError, type Reason } from '../errors.ts';
import { sha256 } from '../hash/sha256.ts';
import type { Trust } from '../bundle/trust.ts';

export function linesOf(bundle: Uint8Array): string[] {
  return textOf(bundle).split('\n').slice(0, -1);
}

/** Puts lines together with a fresh checksum: a forger knows better than to leave the old one. */
export function resealed(lines: readonly string[]): Uint8Array {
  const body = `${lines.slice(0, -1).join('\n')}\n`;
  const sum = toHex(sha256(utf8(body)));
  return utf8(`${body}${lines.at(-1)!.replace(/"sha256":"[^"]*"/, `"sha256":"${sum}"`)}\n`);
}

export async function assertRefused(
  bundle: Uint8Array,
  trust: Trust,
  reason: Reason,
  index?: number,
): Promise<void> {
  await assert.rejects(verifyBundle([bundle], trust), (error) => {
    assert.ok(error instanceof EvidenceError, String(error));
    assert.equal(error.reason, reason, error.message);
    if (index !== undefined) assert.equal(error.index, index, error.message);
    return true;
  });
}
