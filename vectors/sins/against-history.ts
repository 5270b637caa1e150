// Sins against the history of a log: another past, content that went without a word, a restore that hides it.

import {
  BundleWriter,
  closeUnits,
  decodeEntry,
  type Entry,
  epochGenesisHash,
  formatVerifierKey,
  KINDS,
  parseNote,
  parseVerifierKey,
  showRoots,
  subtreeHashes,
  tagOf,
  toBase64,
  withholdContent,
} from '@tallystick/evidence';
import { linesOf } from '../../packages/evidence/src/testing/forgery.ts';
import { sampleEvent, SampleLog, VECTOR_EVENT } from '../../packages/evidence/src/testing/sample-log.ts';
import { linesWithDeletions, logWithDeletions, text } from '../samples.ts';
import { altered, resealed, type Sins } from './forge.ts';

export async function addSinsAgainstHistory(sins: Sins, log: SampleLog): Promise<void> {
  await addRechained(sins, log);
  await addDeletions(sins);
  await addNotices(sins);
  await addNoticesOutside(sins);
  await addEpochs(sins, log);
  await addSuccessions(sins);
}

async function addRechained(sins: Sins, log: SampleLog): Promise<void> {
  const forged = await SampleLog.create();
  for (let n = 0; n < log.size; n++) forged.append(n === 12 ? VECTOR_EVENT : sampleEvent(n));
  const forgedLines = forged.entries.map(({ entry, shown }) => ({ entry, shown }));
  sins.set('root-mismatch/suffix-chained-anew.jsonl', text(await log.bundle({ lines: forgedLines })));
  const mended = forgedLines.with(12, log.entries[12]!);
  sins.set('chain-broken/suffix-of-another-history.jsonl', text(await log.bundle({ lines: mended })));
  const other = await SampleLog.create('audit.example.com/t/bolt');
  for (let n = 0; n < log.size; n++) other.append(sampleEvent(n));
  sins.set('origin-mismatch/log-of-another-tenant.jsonl', text(await other.bundle()));
  sins.set(
    'chain-broken/first-entry-of-another-tenant.jsonl',
    text(await other.bundle({ origin: log.origin })),
  );
}

async function addDeletions(sins: Sins): Promise<void> {
  const log = await logWithDeletions();
  const told = linesWithDeletions(log);
  const gone = (index: number) => ({
    ...told[index]!,
    shown: showRoots(log.entries[index]!.shown),
    deleted: true as const,
  });
  const put = async (sin: string, index: number): Promise<unknown> =>
    sins.set(`${sin}.jsonl`, text(await log.bundle({ lines: told.with(index, gone(index)) })));
  await put('gap-unexplained/deleted-without-notice', 7);
  await put('gap-unexplained/deleted-after-the-notice', 12);
  await put('gap-unexplained/redacted-event-purged', 8);
  await put('notice-invalid/notice-purged', 10);
  const withheld = told.with(10, {
    entry: log.entries[10]!.entry,
    shown: withholdContent(log.entries[10]!.shown),
  });
  sins.set('notice-invalid/notice-withheld.jsonl', text(await log.bundle({ lines: withheld })));
  const purged = {
    entry: log.entries[3]!.entry,
    shown: closeUnits(log.entries[3]!.shown, isNote),
    deleted: [NOTE_TAG],
  };
  const unit = text(await log.bundle({ lines: told.with(3, purged) }));
  sins.set('gap-unexplained/unit-deleted-under-a-purge.jsonl', unit);
}

const NOTE_TAG = toBase64(tagOf('/payload/note').bytes);
const isNote = (path: string): boolean => path === '/payload/note';

/** Notices that a log has signed and that are wrong all the same. */
async function addNotices(sins: Sins): Promise<void> {
  const withNotice = async (
    kind: 2 | 3 | 4 | 5 | 9,
    payload: Record<string, unknown>,
  ): Promise<SampleLog> => {
    const log = await SampleLog.create();
    for (let n = 0; n < 3; n++) log.append(sampleEvent(n));
    log.notice(kind, payload);
    return log;
  };
  const put = async (
    sin: string,
    kind: 2 | 3 | 4 | 5 | 9,
    payload: Record<string, unknown>,
  ): Promise<unknown> =>
    sins.set(`notice-invalid/${sin}.jsonl`, text(await (await withNotice(kind, payload)).bundle()));
  const hash = toBase64(new Uint8Array(32));
  const purge = {
    policyId: null,
    policyVersion: null,
    cause: 'Retention',
    ranges: [[0, 2]],
    count: 2,
    subtrees: [hash],
  };
  await put('purge-of-what-is-to-come', KINDS.purge, {
    ...purge,
    ranges: [[0, 4]],
    count: 4,
    subtrees: [hash],
  });
  await put('purge-without-its-subtrees', KINDS.purge, { ...purge, subtrees: [] });
  const other = await SampleLog.create();
  for (let n = 1; n < 3; n++) other.append(sampleEvent(n));
  const ofAnother = { ...purge, subtrees: subtreeHashes({ begin: 0, end: 2 }, other.read).map(toBase64) };
  const purged = await withNotice(KINDS.purge, ofAnother);
  const lines = purged.entries.map(({ entry, shown }, i) =>
    i < 2 ? { entry, shown: showRoots(shown), deleted: true as const } : { entry, shown },
  );
  sins.set('notice-invalid/purge-with-subtrees-of-another-tree.jsonl', text(await purged.bundle({ lines })));
  await put('purge-that-counts-nothing', KINDS.purge, { ...purge, count: 0 });
  await put('unknown-act', KINDS.legalHold, {
    holdId: '01KE0000000000000000000001',
    act: 'Forgotten',
    policyId: null,
  });
  await put('anchor-loss-behind-itself', KINDS.administration, {
    act: 'AnchorLossAccepted',
    requestId: '01KE0000000000000000000001',
    subjectIds: [],
    count: 1,
    signedSize: 4,
    signedRoot: hash,
  });
  const byAna = await SampleLog.create();
  const previousKey = byAna.signer.verifierKey;
  await put('rotation-to-a-key-of-small-order', KINDS.keyRotation, {
    previousKey,
    newKey: formatVerifierKey({ ...parseVerifierKey(previousKey), publicKey: new Uint8Array(32) }),
    overlapEndsAt: '2026-02-01T00:00:00.000Z',
  });
  byAna.append({ ...VECTOR_EVENT, payload: purge }, KINDS.purge);
  sins.set('notice-invalid/notice-by-a-user.jsonl', text(await byAna.bundle()));
  const eventId = '01KE0000000000000000000042';
  const log = await withNotice(KINDS.redaction, {
    leafIndex: 0,
    eventId,
    tags: [NOTE_TAG],
    cause: 'Redaction',
  });
  const [first, ...rest] = log.entries.map(({ entry, shown }) => ({ entry, shown }));
  const redacted = { entry: first!.entry, shown: closeUnits(first!.shown, isNote), deleted: [NOTE_TAG] };
  const another = text(await log.bundle({ lines: [redacted, ...rest] }));
  sins.set('gap-unexplained/redaction-of-another-event.jsonl', another);
}

async function addNoticesOutside(sins: Sins): Promise<void> {
  const log = await logWithDeletions();
  const range = { from: 1, to: 9, lines: linesWithDeletions(log, 1, 9) };
  sins.set('gap-unexplained/notice-left-out.jsonl', text(await log.bundle({ ...range, notices: [11] })));
  const good = linesOf(await log.bundle({ ...range, notices: [10, 11] }));
  const at = good.findIndex((line) => line.startsWith('{"k":'));
  const event = text(new BundleWriter().notice(log.provenLine(12))).trimEnd();
  sins.set('notice-invalid/event-as-a-notice.jsonl', resealed(good.toSpliced(at + 2, 0, event)));
  sins.set('malformed/notice-twice.jsonl', resealed(good.toSpliced(at, 0, good[at]!)));
  const early = good.toSpliced(at, 1).toSpliced(1, 0, good[at]!);
  sins.set('malformed/notice-before-the-entries.jsonl', resealed(early));
  const changed = altered(good[at]!, 'Retention', 'KeyDestroyed');
  sins.set('leaf-mismatch/notice-altered.jsonl', resealed(good.with(at, changed)));
  const moved = good[at]!.replace(/"i":\[("[^"]+"),("[^"]+")/, '"i":[$2,$1');
  sins.set('root-mismatch/notice-that-is-not-in-the-log.jsonl', resealed(good.with(at, moved)));
}

/** Entries that a log has signed and that do not fit those before them. */
async function addSuccessions(sins: Sins): Promise<void> {
  const put = async (sin: string, changeOf: (third: Entry) => Partial<Entry>): Promise<SampleLog> => {
    const log = await SampleLog.create();
    for (let n = 0; n < 3; n++) log.append(sampleEvent(n));
    log.append(sampleEvent(3), KINDS.event, changeOf(decodeEntry(log.entries[2]!.entry)));
    sins.set(`${sin}.jsonl`, text(await log.bundle()));
    return log;
  };
  await put('event-id-repeated/two-entries-with-one-event-id', ({ eventId }) => ({ eventId }));
  const early = await put('time-reversed/received-before-the-entry-before', ({ receivedAtMs }) => ({
    receivedAtMs: receivedAtMs - 1,
  }));
  const lines = [0, 2, 3].map((index) => early.provenLine(index));
  const scattered = text(await early.bundle({ complete: false, lines }));
  sins.set('time-reversed/received-before-in-a-scattered-bundle.jsonl', scattered);
}

/** A log that goes on after a restore, and what can be wrong with how it begins. */
async function addEpochs(sins: Sins, before: SampleLog): Promise<void> {
  const previousCheckpoint = parseNote(await before.checkpoint()).text;
  const begun = async (payload?: Record<string, unknown>): Promise<SampleLog> => {
    const log = await SampleLog.create(undefined, (origin) => epochGenesisHash(origin, previousCheckpoint));
    if (payload === undefined) log.append(sampleEvent(0));
    else log.notice(KINDS.newEpoch, payload);
    return log;
  };
  const anchoredRoot = previousCheckpoint.split('\n')[2]!;
  const payload = {
    previousOrigin: before.origin,
    anchoredSize: before.size,
    anchoredRoot,
    restoredSize: 15,
  };
  const put = async (sin: string, log: SampleLog, header = {}): Promise<unknown> =>
    sins.set(`${sin}.jsonl`, text(await log.bundle(header)));
  await put('notice-invalid/epoch-without-its-notice', await begun(), { previousCheckpoint });
  const contrary = await begun({ ...payload, anchoredSize: 21 });
  await put('notice-invalid/epoch-notice-of-another-checkpoint', contrary, { previousCheckpoint });
  await put('chain-broken/epoch-without-the-checkpoint-before', await begun(payload));
  await put('malformed/checkpoint-before-is-rubbish', await begun(payload), {
    previousCheckpoint: 'rubbish',
  });
  const later = await SampleLog.create();
  later.append(sampleEvent(0));
  later.notice(KINDS.newEpoch, payload);
  await put('notice-invalid/epoch-in-the-middle', later);
  await put('malformed/checkpoint-before-a-later-range', later, { from: 1, to: 2, previousCheckpoint });
}
