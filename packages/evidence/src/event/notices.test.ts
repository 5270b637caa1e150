// Notices: every kind has a payload that is accepted, and each member of it is looked at.

import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { toBase64 } from '../bytes.ts';
import { decodeEntry, type Kind, KINDS } from './entry.ts';
import { EvidenceError } from '../errors.ts';
import { acceptedAnchorLoss } from './anchor-loss.ts';
import { NOTICE_PAYLOADS, type NoticeKind, payloadFault, readNotice } from './notices.ts';
import { sampleEvent, SampleLog } from '../testing/sample-log.ts';
import { closeUnits, withholdContent } from './show-event.ts';

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
        const faultWith = (value: unknown): string | undefined =>
          payloadFault(kind, { ...PAYLOADS[kind], [member]: value });
        const isOptional: boolean = !Object.hasOwn(PAYLOADS[kind], member);
        const expected: string | undefined = isOptional ? undefined : `has no valid payload.${member}`;
        assert.equal(faultWith(isOptional ? HASH : undefined), expected);
        for (const wrong of [-1, 1.5, '', {}, [{}], true])
          assert.ok(faultWith(wrong), `${member} ${JSON.stringify(wrong)}`);
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

describe('a notice that the anchor was lost and that somebody accepted it', () => {
  const KIND = KINDS.administration;
  const accepted = { ...PAYLOADS[KIND], act: 'AnchorLossAccepted', signedSize: 5, signedRoot: HASH };

  it('names the checkpoint that was known then', async () => {
    const { entry, shown } = await noticeOf(KIND, accepted);
    const notice = readNotice(entry, shown);
    assert.deepEqual(acceptedAnchorLoss(notice), { index: 5, signedSize: 5, signedRoot: HASH });
    assert.equal(payloadFault(KIND, { ...accepted, signedSize: 0 }), undefined);
  });

  it('is refused without it, with one of another form, and with one that lies behind it', async () => {
    for (const member of ['signedSize', 'signedRoot']) {
      const { [member]: _gone, ...rest } = accepted as Record<string, unknown>;
      assert.equal(payloadFault(KIND, rest), `has no valid payload.${member}`);
      for (const wrong of [-1, 1.5, '', 'x', null, true])
        assert.ok(payloadFault(KIND, { ...accepted, [member]: wrong }), `${member} ${wrong}`);
    }
    assert.match(payloadFault(KIND, { ...accepted, extra: 1 })!, /unknown/);
    const { entry, shown } = await noticeOf(KIND, { ...accepted, signedSize: 6 });
    assert.throws(
      () => readNotice(entry, shown),
      /^EvidenceError: notice of kind 9 at index 5 names a checkpoint that is not before it$/,
    );
  });

  it('is told from every other, which names none', async () => {
    for (const [kind, payload] of [
      [KIND, PAYLOADS[KIND]],
      [KINDS.legalHold, PAYLOADS[KINDS.legalHold]],
    ] as const) {
      const { entry, shown } = await noticeOf(kind, payload);
      assert.equal(acceptedAnchorLoss(readNotice(entry, shown)), undefined);
    }
    const first = (await SampleLog.create()).notice(KIND, PAYLOADS[KIND]);
    assert.equal(readNotice(decodeEntry(first.entry), first.shown).index, 0);
    for (const kind of [KINDS.legalHold, KINDS.policyChange, KINDS.streamSeal])
      assert.ok(payloadFault(kind, { ...PAYLOADS[kind], ...accepted }), `kind ${kind}`);
    const { act: _, ...members } = accepted;
    assert.equal(
      payloadFault(KIND, { ...members, act: 'KeyCreated' }),
      'has the unknown member payload.signedSize',
    );
  });
});

describe('a notice that contradicts itself', () => {
  const contradictions: [string, Kind, Record<string, unknown>][] = [
    ['redacts itself', KINDS.redaction, { leafIndex: 5 }],
    ['purges itself', KINDS.purge, { ranges: [[0, 6]], subtrees: [HASH, HASH] }],
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
    ['rotates to a key of a log with nearly its name', KINDS.keyRotation, { newKey: `b${KEY.slice(1)}` }],
    ['has a payload that is none', KINDS.legalHold, { act: 'Forgotten' }],
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

describe('a notice at the edge of what may be', () => {
  const edges: [string, Kind, Record<string, unknown>][] = [
    [
      'purges up to itself, in ranges that touch',
      KINDS.purge,
      {
        ranges: [
          [0, 2],
          [2, 5],
        ],
        count: 5,
      },
    ],
    ['purges one event of many', KINDS.purge, { count: 1 }],
    ['purges under no policy', KINDS.purge, { policyId: null, policyVersion: null }],
    ['seals a stream of itself alone', KINDS.streamSeal, { firstIndex: 5 }],
    ['restores all that was anchored', KINDS.newEpoch, { restoredSize: 9 }],
    ['redacts the first event', KINDS.redaction, { leafIndex: 0 }],
    [
      'rotates to another key of its log',
      KINDS.keyRotation,
      { newKey: KEY.replace('+38df7d1a+', '+00000000+') },
    ],
    ['names a hash of any digits', KINDS.redaction, { tags: [toBase64(new Uint8Array(32).fill(0xfb))] }],
  ];
  for (const [deed, kind, change] of edges) {
    it(`is read when it ${deed}`, async () => {
      const { entry, shown } = await noticeOf(kind, { ...PAYLOADS[kind as NoticeKind], ...change });
      assert.equal(readNotice(entry, shown).kind, kind);
    });
  }

  it('is refused when its ranges are of no length, or stand the wrong way round', async () => {
    // Each with as many subtrees as its ranges would have.
    const faulty: [number[][], number][] = [
      [
        [
          [0, 2],
          [4, 4],
          [4, 5],
        ],
        2,
      ],
      [
        [
          [4, 4],
          [4, 5],
        ],
        1,
      ],
      [[[2, 2]], 0],
      [
        [
          [0, 4],
          [3, 4],
        ],
        2,
      ],
    ];
    for (const [ranges, count] of faulty) {
      const three = { count: 1, subtrees: Array.from({ length: count }, () => HASH) };
      const { entry, shown } = await noticeOf(KINDS.purge, { ...PAYLOADS[KINDS.purge], ...three, ranges });
      assert.throws(() => readNotice(entry, shown), isInvalid);
    }
  });
});

describe('a member of a notice', () => {
  const accepts = (kind: NoticeKind, member: string, value: unknown): boolean =>
    payloadFault(kind, { ...PAYLOADS[kind], [member]: value }) === undefined;

  it('takes each of the words it is listed with, and no other', () => {
    const words: [NoticeKind, string, string[]][] = [
      [KINDS.redaction, 'cause', ['Redaction', 'Erasure']],
      [KINDS.purge, 'cause', ['Retention', 'KeyDestroyed']],
      [KINDS.legalHold, 'act', ['Placed', 'Released']],
      [KINDS.policyChange, 'policyType', ['Classification', 'Retention', 'Access', 'Alert']],
      [KINDS.policyChange, 'act', ['Created', 'Updated', 'Deleted']],
      [KINDS.streamSeal, 'cause', ['Age', 'Size', 'Request']],
    ];
    for (const [kind, member, known] of words) {
      for (const word of known) assert.ok(accepts(kind, member, word), word);
      for (const word of ['', 'Other', known[0]!.toLowerCase(), ` ${known[0]}`])
        assert.ok(!accepts(kind, member, word));
    }
  });

  it('that is an id, a hash, a key or a name is matched from end to end', () => {
    const texts: [NoticeKind, string, string[], string[]][] = [
      [
        KINDS.legalHold,
        'holdId',
        [ULID, '7ZZZZZZZZZZZZZZZZZZZZZZZZZ'],
        [`8${ULID.slice(1)}`, `${ULID}0`, `x${ULID}`, ULID.replace('K', 'I'), ULID.slice(1)],
      ],
      [
        KINDS.newEpoch,
        'anchoredRoot',
        [HASH],
        [`A${HASH}`, `${HASH}=`, HASH.slice(1), HASH.replace(/.=$/, 'B='), HASH.replace('=', '')],
      ],
      [
        KINDS.keyRotation,
        'newKey',
        [KEY, `${KEY}==`],
        [
          '',
          ` ${KEY}`,
          `${KEY}===`,
          KEY.replace('+38', '+3'),
          KEY.replace('+38d', '+38D'),
          KEY.slice(KEY.indexOf('+')),
          'a+00000000+',
        ],
      ],
      [KINDS.newEpoch, 'previousOrigin', ['a', 'a.example/t/x'], ['', 'a b', 'a+b', 'a\n', ' a']],
      [
        KINDS.administration,
        'act',
        ['A', 'Z'.repeat(64), 'KeyCreated'],
        ['', 'Z'.repeat(65), 'Key1', 'Key Created', 'A\n'],
      ],
      [KINDS.administration, 'requestId', ['!', '~'.repeat(128)], ['', '~'.repeat(129), 'a b', 'é', 'a\n']],
      [KINDS.newEpoch, 'previousOrigin', ['a'.repeat(1024)], ['a'.repeat(1025)]],
    ];
    for (const [kind, member, good, bad] of texts) {
      for (const text of good) assert.ok(accepts(kind, member, text), text);
      for (const text of [...bad, 7, null, [good[0]]]) assert.ok(!accepts(kind, member, text), String(text));
    }
    assert.ok(accepts(KINDS.legalHold, 'policyId', ULID) && !accepts(KINDS.legalHold, 'policyId', 'x'));
  });

  it('that is an index, a range, an instant or a list has one form', () => {
    for (const index of [0, 1, Number.MAX_SAFE_INTEGER]) assert.ok(accepts(KINDS.purge, 'count', index));
    for (const index of [-1, 0.5, 2 ** 53, '1', null, NaN]) assert.ok(!accepts(KINDS.purge, 'count', index));
    assert.ok(
      accepts(KINDS.purge, 'ranges', [
        [0, 1],
        [2, 3],
      ]),
    );
    for (const range of [
      [0],
      [0, 1, 2],
      [-1, 1],
      [0, -1],
      ['0', 1],
      [0, '1'],
      7,
      '01',
      { 0: 0, 1: 1, length: 2 },
    ]) {
      assert.ok(!accepts(KINDS.purge, 'ranges', [range]), JSON.stringify(range));
    }
    const instants = [
      '2026-01-02',
      '2026-01-02T03:04:05Z',
      '2026-02-30T00:00:00.000Z',
      'x',
      1_767_323_046_000,
      null,
    ];
    for (const instant of instants) assert.ok(!accepts(KINDS.keyRotation, 'overlapEndsAt', instant));
    const list = (length: number): string[] => Array.from({ length }, () => ULID);
    assert.ok(accepts(KINDS.administration, 'subjectIds', []));
    assert.ok(accepts(KINDS.administration, 'subjectIds', list(10_000)));
    assert.ok(!accepts(KINDS.administration, 'subjectIds', list(10_001)));
    assert.ok(!accepts(KINDS.administration, 'subjectIds', [ULID, 'x']));
    assert.ok(!accepts(KINDS.administration, 'subjectIds', { length: 0 }));
  });

  it('is unknown though every object has one of its name', () => {
    const payload = PAYLOADS[KINDS.legalHold];
    assert.equal(
      payloadFault(KINDS.legalHold, { ...payload, constructor: 1 }),
      'has the unknown member payload.constructor',
    );
    for (const none of [undefined, null, 'x', 7])
      assert.equal(payloadFault(KINDS.legalHold, none), 'has no payload');
  });
});

describe('what is no notice', () => {
  it('is an event though the System made it, and a notice of which any unit is closed', async () => {
    const log = await SampleLog.create();
    const event = { ...sampleEvent(0), actor: { actorType: 'System' }, payload: PAYLOADS[KINDS.legalHold] };
    const made = log.append(event, KINDS.event);
    assert.throws(
      () => readNotice(decodeEntry(made.entry), made.shown),
      /^EvidenceError: notice of kind 1 at index 0 is an event$/,
    );
    const { entry, shown } = log.notice(KINDS.legalHold, PAYLOADS[KINDS.legalHold]);
    const closed = closeUnits(shown, (path) => path === '/outcome');
    assert.throws(() => readNotice(decodeEntry(entry), closed), isInvalid);
  });

  it('is one without an actor, or by an actor that is more than System', async () => {
    const log = await SampleLog.create();
    const { actor: _actor, ...nobodys } = sampleEvent(0);
    for (const event of [nobodys, { ...nobodys, actor: { actorType: 'System', userId: 'u' } }]) {
      const made = log.append({ ...event, payload: PAYLOADS[KINDS.legalHold] }, KINDS.legalHold);
      assert.throws(() => readNotice(decodeEntry(made.entry), made.shown), isInvalid);
    }
  });

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
