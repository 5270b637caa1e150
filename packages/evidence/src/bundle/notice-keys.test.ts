import assert from 'node:assert/strict';
import { it } from 'node:test';
import { EvidenceError } from '../errors.ts';
import { decodeEntry, KINDS } from '../event/entry.ts';
import {
  formatVerifierKey,
  parseVerifierKey,
  SIGNATURE_TYPES,
  type VerifierKey,
} from '../note/verifier-key.ts';
import { SampleLog } from '../testing/sample-log.ts';
import { readNoticeAndKeys } from './notice-keys.ts';

it('a rotation is read with keys that sign checkpoints, and refused with any other', async () => {
  const log = await SampleLog.create();
  const previousKey = log.signer.verifierKey;
  const keyWith = (changes: Partial<VerifierKey>): string =>
    formatVerifierKey({ ...parseVerifierKey(previousKey), ...changes });
  const read = (before: string, newKey: string): unknown => {
    const overlapEndsAt = '2026-02-01T00:00:00.000Z';
    const payload = { previousKey: before, newKey, overlapEndsAt };
    const { entry, shown } = log.notice(KINDS.keyRotation, payload);
    return readNoticeAndKeys(decodeEntry(entry), shown);
  };
  assert.ok(read(previousKey, previousKey));
  const wrong = [
    keyWith({ publicKey: new Uint8Array(32) }), // a point of small order
    keyWith({ type: SIGNATURE_TYPES.cosignature }),
    keyWith({ name: 'audit.example.com/t/bolt' }),
    previousKey.replace(/\+[0-9a-f]{8}\+/, '+00000000+'),
  ];
  for (const key of wrong) {
    for (const [before, after] of [
      [previousKey, key],
      [key, previousKey],
    ] as const) {
      const index = log.size;
      assert.throws(
        () => read(before, after),
        (error) =>
          error instanceof EvidenceError && error.reason === 'NOTICE_INVALID' && error.index === index,
        key,
      );
    }
  }
  const { entry, shown } = log.notice(KINDS.legalHold, {
    holdId: '01KE0000000000000000000001',
    act: 'Placed',
    policyId: null,
  });
  assert.equal(readNoticeAndKeys(decodeEntry(entry), shown).kind, KINDS.legalHold);
});
