import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { toBase64 } from '../bytes.ts';
import { EvidenceError } from '../errors.ts';
import { decodeEntry, epochGenesisHash, genesisHash, KINDS } from '../event/entry.ts';
import { withholdContent } from '../event/show-event.ts';
import { type Checkpoint, formatCheckpoint } from '../note/checkpoint.ts';
import { refusal, resultOrRefusal } from '../testing/refusal.ts';
import { SampleLog } from '../testing/sample-log.ts';
import { readEpochBeginning } from './epoch.ts';
import { verifyEventProof } from './event-proof.ts';

const FORMER: Checkpoint = { origin: 'x/t/acme', size: 7, root: new Uint8Array(32).fill(5) };
const ORIGIN = 'x/t/acme/1';
const NAMED = {
  previousOrigin: FORMER.origin,
  anchoredSize: FORMER.size,
  anchoredRoot: toBase64(FORMER.root),
  restoredSize: 3,
};

/** A log whose first entry names the former checkpoint, and whose chain begins as it is told. */
async function logBeginningWith(genesisOf: (origin: string) => Uint8Array) {
  const log = await SampleLog.create(ORIGIN, genesisOf);
  const { entry, shown } = log.notice(KINDS.newEpoch, NAMED);
  return { log, entry: decodeEntry(entry), shown, trust: { verifiers: [log.verifier] } };
}

const after = (former: Checkpoint) => (origin: string) => epochGenesisHash(origin, formatCheckpoint(former));

describe('the first entry after a restore', () => {
  it('says which checkpoint the log goes on from, and how much was restored', async () => {
    const { log, entry, shown, trust } = await logBeginningWith(after(FORMER));
    assert.deepEqual(readEpochBeginning(entry, shown, ORIGIN), { former: FORMER, restoredSize: 3 });
    assert.equal((await verifyEventProof(await log.proofOf(0), trust)).entry.index, 0);
  });

  it('is refused where the chain begins with anything else than the checkpoint that it names', async () => {
    const others = [{ size: 6 }, { origin: 'y' }, { root: new Uint8Array(32) }].map((change) =>
      after({ ...FORMER, ...change }),
    );
    for (const genesisOf of [...others, genesisHash, () => new Uint8Array(32)]) {
      const { log, entry, shown, trust } = await logBeginningWith(genesisOf);
      const refused = resultOrRefusal(() => readEpochBeginning(entry, shown, ORIGIN));
      assert.ok(refused instanceof EvidenceError);
      assert.deepEqual([refused.reason, refused.index], ['CHAIN_BROKEN', 0]);
      await assert.rejects(verifyEventProof(await log.proofOf(0), trust), refusal('CHAIN_BROKEN'));
    }
  });

  it('is refused for another log, in part, with the content of another entry, and as a notice of another kind', async () => {
    const { log, entry, shown } = await logBeginningWith(after(FORMER));
    assert.throws(() => readEpochBeginning(entry, shown, 'x/t/acme/2'), refusal('CHAIN_BROKEN'));
    const part = withholdContent(shown);
    assert.throws(() => readEpochBeginning(entry, part, ORIGIN), refusal('NOTICE_INVALID'));
    const holdId = '01KE0000000000000000000001';
    const hold = log.notice(KINDS.legalHold, { holdId, act: 'Placed', policyId: null });
    assert.throws(() => readEpochBeginning(entry, hold.shown, ORIGIN), refusal('LEAF_MISMATCH'));
    const other = decodeEntry(hold.entry);
    assert.throws(() => readEpochBeginning(other, hold.shown, ORIGIN), refusal('NOTICE_INVALID'));
  });
});
