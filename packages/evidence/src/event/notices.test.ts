// Notices: every kind has a payload that is accepted, and each member of it is looked at.

import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { toBase64 } from '../bytes.ts';
import { decodeEntry, type Kind, KINDS } from './entry.ts';
import { EvidenceError } from '../errors.ts';
import { NOTICE_PAYLOADS, type NoticeKind, payloadFault, readNotice } from './notices.ts';
import { sampleEvent, SampleLog } from '../testing/sample-log.ts';
import { withholdContent } from './show-event.ts';

const ULID = '01KE0000000000000000000001';
const HASH = toBase64(new Uint8Array(32).fill(3));
const KEY = 'audit.example.com/t/acme+38df7d1a+AUBGtHFZDMZhwJ3+knMasraAcxQL0fq7InuXBaVqR8oG';

/** As accepted at index 5; a new epoch at index 0. */
const PAYLOADS: Record<NoticeKind, Record<string, unknown>> = {
  [KINDS.redaction]: { leafIndex: 4, eventId: ULID, tags: [HASH], cause: 'Redaction' },
  [KINDS.purge]: {
    policyId: ULID,
    policyVersion: 3,
    cause: 'Retention',
    ranges: [
      [0, 2],
      [3, 5],
    ],
    count: 4,
    subtrees: [HASH, HASH, HASH],
  },
  [KINDS.keyRotation]: { previousKey: KEY, newKey: KEY, overlapEndsAt: '2026-01-02T03:04:05.678Z' },
  [KINDS.legalHold]: { holdId: ULID, act: 'Placed', policyId: null },
  [KINDS.policyChange]: {
    policyId: ULID,
    policyVersion: 1,
    policyType: 'Access',
    act: 'Created',
    commitment: HASH,
  },
  [KINDS.newEpoch]: { previousOrigin: 'a.example/t/x', anchoredSize: 9, anchoredRoot: HASH, restoredSize: 7 },
  [KINDS.streamSeal]: { streamId: ULID, nextStreamId: ULID, firstIndex: 0, lastIndex: 5, cause: 'Age' },
  [KINDS.administration]: { act: 'KeyCreated', requestId: 'r-1', subjectIds: [ULID], count: 1 },
};

let five: SampleLog;
before(async () => {
  five = await SampleLog.create();
  for (let n = 0; n < 5; n++) five.append(sampleEvent(n));
});

async function noticeOf(kind: Kind, payload: Record<string, unknown>) {
  const log = await SampleLog.create();
  if (kind !== KINDS.newEpoch) for (const { entry, shown } of five.entries) log.appendEntry(entry, shown);
  const { entry, shown } = log.notice(kind, payload);
  return { entry: decodeEntry(entry), shown };
}

for (const [name, kind] of Object.entries(KINDS)) {
  if (kind === KINDS.event) continue;
  describe(`a notice of kind ${kind}, ${name}`, () => {
    it('is read', async () => {
      const { entry, shown } = await noticeOf(kind, PAYLOADS[kind]);
      const notice = readNotice(entry, shown);
      assert.deepEqual([notice.kind, notice.index], [kind, kind === KINDS.newEpoch ? 0 : 5]);
      assert.deepEqual(JSON.parse(JSON.stringify(notice.payload)), PAYLOADS[kind]);
    });

    it('is refused when a member is missing, wrong or unknown', () => {
      for (const member of Object.keys(NOTICE_PAYLOADS[kind])) {
        const { [member]: _gone, ...rest } = PAYLOADS[kind];
        assert.match(payloadFault(kind, rest)!, new RegExp(`payload\\.${member}$`));
        for (const wrong of [-1, 1.5, '', {}, [{}], true]) {
          assert.ok(
            payloadFault(kind, { ...PAYLOADS[kind], [member]: wrong }),
            `${member} ${JSON.stringify(wrong)}`,
          );
        }
      }
      assert.match(payloadFault(kind, { ...PAYLOADS[kind], extra: 1 })!, /unknown/);
      assert.ok(payloadFault(kind, null));
      assert.equal(payloadFault(kind, PAYLOADS[kind]), undefined);
    });

    it('is refused when it is not shown whole', async () => {
      const { entry, shown } = await noticeOf(kind, PAYLOADS[kind]);
      assert.throws(() => readNotice(entry, withholdContent(shown)), isInvalid);
    });
  });
}

describe('a notice that contradicts itself', () => {
  const contradictions: [string, Kind, Record<string, unknown>][] = [
    ['redacts itself', KINDS.redaction, { leafIndex: 5 }],
    ['purges itself', KINDS.purge, { ranges: [[0, 6]] }],
    ['purges nothing', KINDS.purge, { ranges: [[2, 2]], count: 0 }],
    [
      'has ranges out of order',
      KINDS.purge,
      {
        ranges: [
          [3, 5],
          [0, 2],
        ],
      },
    ],
    [
      'has ranges that overlap',
      KINDS.purge,
      {
        ranges: [
          [0, 3],
          [2, 5],
        ],
      },
    ],
    ['counts more than its ranges hold', KINDS.purge, { count: 5 }],
    ['counts nothing', KINDS.purge, { count: 0 }],
    ['has a subtree too few', KINDS.purge, { subtrees: [HASH, HASH] }],
    ['names half a policy', KINDS.purge, { policyVersion: null }],
    ['rotates to a key of another log', KINDS.keyRotation, { newKey: KEY.replace('acme', 'bolt') }],
    ['seals somewhere else', KINDS.streamSeal, { lastIndex: 4 }],
    ['seals backwards', KINDS.streamSeal, { firstIndex: 6 }],
    ['restores more than was anchored', KINDS.newEpoch, { restoredSize: 10 }],
  ];
  for (const [sin, kind, change] of contradictions) {
    it(`is refused when it ${sin}`, async () => {
      const { entry, shown } = await noticeOf(kind, { ...PAYLOADS[kind as NoticeKind], ...change });
      assert.throws(() => readNotice(entry, shown), isInvalid);
    });
  }
});

describe('what is no notice', () => {
  it('is an event, one by a user, or an epoch in the middle of a log', async () => {
    const { entry, shown } = five.entries[0]!;
    assert.throws(() => readNotice(decodeEntry(entry), shown), isInvalid);
    const log = await SampleLog.create();
    const byAna = log.append({ ...sampleEvent(0), payload: PAYLOADS[KINDS.legalHold] }, KINDS.legalHold);
    assert.throws(() => readNotice(decodeEntry(byAna.entry), byAna.shown), isInvalid);
    const epoch = log.notice(KINDS.newEpoch, PAYLOADS[KINDS.newEpoch]);
    assert.throws(() => readNotice(decodeEntry(epoch.entry), epoch.shown), isInvalid);
  });
});

function isInvalid(error: unknown): boolean {
  return error instanceof EvidenceError && error.reason === 'NOTICE_INVALID' && error.index !== undefined;
}
