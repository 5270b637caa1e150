// The invalid vectors: `<reason>/<sin>` → text. Where a forger would know better than to leave a wrong
// checksum, the checksum is made anew, so that each file has exactly the one sin that it is named after.

import {
  decodeEntry,
  encodeEntry,
  formatEventProof,
  KINDS,
  noteSigner,
  sha256,
  toBase64,
} from '@tallystick/evidence';
import {
  closeUnits,
  contentOf,
  openEvent,
  rootsOnly,
  sampleEvent,
  SampleLog,
  VECTOR_EVENT,
  withheldContent,
} from '../packages/evidence/src/testing/sample-log.ts';
import { linesOf, resealed as resealedBytes } from '../packages/evidence/src/testing/forgery.ts';
import { linesWithDeletions, logWithDeletions, text } from './samples.ts';

type Sins = Map<string, string>;

export async function makeSins(log: SampleLog): Promise<Sins> {
  const sins: Sins = new Map();
  const whole = linesOf(await log.bundle());
  addMalformed(sins, whole);
  addCut(sins, whole);
  addAltered(sins, whole);
  await addAmbiguous(sins);
  await addRechained(sins, log);
  await addDeletions(sins);
  await addSignatures(sins, log, whole);
  await addFilters(sins, log);
  await addProofs(sins, log);
  return sins;
}

function addMalformed(sins: Sins, whole: string[]): void {
  const entry = whole[4]!;
  const bad = (sin: string, line: string): unknown =>
    sins.set(`malformed/${sin}.jsonl`, resealed(whole.with(4, line)));
  bad('white-space-in-a-line', entry.replace('{"e":', '{"e": '));
  bad('member-twice', entry.replace('"g":[null,null]', '"g":[null,null],"g":[null,null]'));
  bad('member-unknown', entry.replace('"g":[null,null]', '"g":[null,null],"x":1'));
  bad('members-in-another-order', entry.replace(/^(\{)("e":"[^"]+"),(.*)\}$/, '$1$3,$2}'));
  bad('needless-escape', entry.replace('"/action"', '"/\\u0061ction"'));
  bad('base64-with-unused-bits', entry.replace(/"e":"([^"]{154})[^"]=/, '"e":"$1B='));
  bad(
    'salt-of-fifteen-bytes',
    entry.replace(/"o":\[\["[^"]+","[^"]+"/, (o) =>
      o.replace(/"[^"]+"$/, `"${toBase64(new Uint8Array(15))}"`),
    ),
  );
  bad(
    'entry-of-an-unknown-kind',
    entry.replace(/"e":"([^"]+)"/, (_all, e: string) => `"e":"${withByte(e, 16, 10)}"`),
  );
  bad(
    'entry-with-reserved-bits',
    entry.replace(/"e":"([^"]+)"/, (_all, e: string) => `"e":"${withByte(e, 17, 1)}"`),
  );
  bad(
    'entry-with-another-label',
    entry.replace(/"e":"([^"]+)"/, (_all, e: string) => `"e":"${withByte(e, 0, 65)}"`),
  );
  sins.set('malformed/lines-after-the-trailer.jsonl', `${whole.join('\n')}\n${entry}\n`);
  sins.set(
    'malformed/another-format.jsonl',
    resealed(whole.with(0, whole[0]!.replace('bundle/1', 'bundle/2'))),
  );
  sins.set('malformed/no-header.jsonl', resealed(whole.slice(1)));
}

function addCut(sins: Sins, whole: string[]): void {
  const last = whole.length - 1;
  sins.set('truncated/no-trailer.jsonl', `${whole.slice(0, last).join('\n')}\n`);
  sins.set('truncated/no-last-newline.jsonl', whole.join('\n'));
  sins.set('truncated/empty-file.jsonl', '');
  sins.set('truncated/tail-cut.jsonl', resealed(whole.toSpliced(last - 1, 1)));
  const uncounted = whole.toSpliced(last - 1, 1).map((line) => line.replace('"entries":20', '"entries":19'));
  sins.set('truncated/tail-cut-and-counted-anew.jsonl', resealed(uncounted));
  sins.set('index-mismatch/head-cut.jsonl', resealed(whole.toSpliced(1, 1)));
  sins.set('index-mismatch/entry-left-out.jsonl', resealed(whole.toSpliced(9, 1)));
  sins.set('index-mismatch/entries-swapped.jsonl', resealed(whole.with(9, whole[10]!).with(10, whole[9]!)));
  sins.set('index-mismatch/entry-twice.jsonl', resealed(whole.toSpliced(9, 0, whole[9]!)));
  const sum = /"sha256":"(.)/.exec(whole[last]!)![1]!;
  const wrong = whole[last]!.replace(/"sha256":"./, `"sha256":"${sum === 'a' ? 'b' : 'a'}`);
  sins.set('checksum-mismatch/checksum-of-another-file.jsonl', `${whole.with(last, wrong).join('\n')}\n`);
}

function addAltered(sins: Sins, whole: string[]): void {
  const entry = whole[4]!;
  const altered = (sin: string, line: string): unknown =>
    sins.set(`${sin}.jsonl`, resealed(whole.with(4, line)));
  altered('leaf-mismatch/value-changed', entry.replace('payment 3', 'payment 4'));
  altered('leaf-mismatch/key-renamed', entry.replace('"/payload/note"', '"/payload/nota"'));
  altered(
    'leaf-mismatch/unit-left-out',
    entry.replace(/\["\/payload\/note"(?:[^\]\\]|\\.)*\],?/, '').replace(',]', ']'),
  );
  altered(
    'leaf-mismatch/unit-put-in',
    entry.replace('"o":[', `"o":[["/payload/extra","${toBase64(new Uint8Array(16))}","1"],`),
  );
  altered(
    'leaf-mismatch/value-moved-to-another-unit',
    swapped(entry, '"\\"Delete.Invoice\\""', '"\\"INV-3\\""'),
  );
  altered('value-not-canonical/number-with-trailing-zero', entry.replace('"4.5"', '"4.50"'));
  altered('value-not-canonical/white-space-inside', entry.replace('{\\"qty\\":3', '{ \\"qty\\":3'));
  altered(
    'value-not-canonical/keys-out-of-order',
    entry.replace('{\\"qty\\":3,\\"sku\\":\\"a/b\\"}', '{\\"sku\\":\\"a/b\\",\\"qty\\":3}'),
  );
  altered('value-not-canonical/key-twice', entry.replace('{\\"qty\\":3', '{\\"qty\\":3,\\"qty\\":3'));
  altered('path-unknown/path-outside-the-list', entry.replace('"/payload/note"', '"/note"'));
  altered('path-unknown/path-too-deep', entry.replace('"/payload/note"', '"/payload/note/text"'));
  altered('path-unknown/wrong-escape', entry.replace('"/payload/note"', '"/payload/no~2te"'));
  altered('path-conflict/path-twice', entry.replace('"/payload/note"', '"/payload/amount"'));
  altered(
    'chain-broken/previous-changed',
    withEntry(entry, (bytes) => encodeEntry({ ...decodeEntry(bytes), previous: sha256() })),
  );
  altered(
    'index-mismatch/index-changed',
    withEntry(entry, (bytes) => encodeEntry({ ...decodeEntry(bytes), index: 4 })),
  );
  const lastLine = whole.length - 2;
  const later = withEntry(whole[lastLine]!, (bytes) =>
    encodeEntry({ ...decodeEntry(bytes), receivedAtMs: 1 }),
  );
  sins.set('root-mismatch/time-of-the-last-entry-changed.jsonl', resealed(whole.with(lastLine, later)));
}

/** Leaves that could be read in two ways, in a log that signs them all the same. */
async function addAmbiguous(sins: Sins): Promise<void> {
  const salt = (): Uint8Array => new Uint8Array(16).fill(7);
  const [group1, group2] = openEvent(VECTOR_EVENT, salt);
  const whole = openEvent({ payload: [1] }, salt)[1];
  if (!('units' in group1) || !('units' in group2) || !('units' in whole)) return;
  const payload = { ...whole.units[0]!, value: '{"amount":9}' };
  const unopened = await bundleOf([group1, { units: [payload] }]);
  sins.set('path-conflict/payload-not-opened.jsonl', unopened);
  const beside = [...group2.units, { ...payload, value: '[]' }].sort((a, b) => a.tag.order - b.tag.order);
  sins.set('path-conflict/payload-beside-its-own-keys.jsonl', await bundleOf([group1, { units: beside }]));
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
    shown: rootsOnly(log.entries[index]!.shown),
    deleted: true as const,
  });
  const bundle = async (index: number): Promise<string> =>
    text(await log.bundle({ lines: told.with(index, gone(index)) }));
  sins.set('gap-unexplained/deleted-without-notice.jsonl', await bundle(7));
  sins.set('gap-unexplained/deleted-after-the-notice.jsonl', await bundle(12));
  sins.set('gap-unexplained/redacted-event-purged.jsonl', await bundle(8));
  const outside = { from: 1, to: 9, lines: linesWithDeletions(log, 1, 9), notices: [11] };
  sins.set('gap-unexplained/notice-left-out.jsonl', text(await log.bundle(outside)));
  sins.set('notice-invalid/notice-purged.jsonl', await bundle(10));
  const withheld = told.with(10, {
    entry: log.entries[10]!.entry,
    shown: withheldContent(log.entries[10]!.shown),
  });
  sins.set('notice-invalid/notice-withheld.jsonl', text(await log.bundle({ lines: withheld })));
  const early = await SampleLog.create();
  early.append(sampleEvent(0));
  const ranges = [[0, 3]];
  early.notice(KINDS.purge, {
    policyId: null,
    policyVersion: null,
    cause: 'Retention',
    ranges,
    count: 3,
    subtrees: [],
  });
  early.append(sampleEvent(2));
  sins.set('notice-invalid/purge-of-what-is-to-come.jsonl', text(await early.bundle()));
  early.notice(KINDS.legalHold, { holdId: '01KE0000000000000000000001', act: 'Forgotten', policyId: null });
  sins.set('notice-invalid/unknown-act.jsonl', text(await early.bundle({ from: 3, to: 4 })));
}

async function addSignatures(sins: Sins, log: SampleLog, whole: string[]): Promise<void> {
  const trailer = whole.at(-1)!;
  const last = whole.length - 1;
  const signed = (sin: string, line: string): unknown =>
    sins.set(`${sin}.jsonl`, resealed(whole.with(last, line)));
  const signature = /acme ([A-Za-z0-9+/=]+)\\n/.exec(trailer)![1]!;
  const bytes = Buffer.from(signature, 'base64');
  bytes[40]! ^= 1;
  signed('signature-invalid/signature-bit-turned', trailer.replace(signature, bytes.toString('base64')));
  const root = /\\n20\\n([^\\]+)\\n/.exec(trailer)![1]!;
  signed('signature-invalid/root-changed', trailer.replace(root, toBase64(sha256())));
  const stranger = await noteSigner(log.origin, sha256(new TextEncoder().encode('another key')));
  const note = JSON.parse(trailer) as { checkpoint: string };
  const body = note.checkpoint.slice(0, note.checkpoint.indexOf('\n\n') + 1);
  const line = Buffer.concat([Buffer.from(stranger.keyId, 'hex'), await stranger.sign(body)]).toString(
    'base64',
  );
  signed('key-unknown/signed-by-another-key', trailer.replace(signature, line));
  const smaller = JSON.stringify(await log.checkpoint(19));
  signed(
    'root-mismatch/checkpoint-of-another-size',
    trailer.replace(JSON.stringify(note.checkpoint), smaller),
  );
  const range = linesOf(await log.bundle({ from: 5, to: 12 }));
  const proof = /"proof":\[("[^"]+"),("[^"]+")/.exec(range.at(-1)!)!;
  const reversed = range.at(-1)!.replace(`${proof[1]},${proof[2]}`, `${proof[2]},${proof[1]}`);
  sins.set('root-mismatch/proof-hashes-swapped.jsonl', resealed(range.with(range.length - 1, reversed)));
  const spare = range.at(-1)!.replace('"proof":[', `"proof":["${toBase64(sha256())}",`);
  sins.set('proof-invalid/spare-hash.jsonl', resealed(range.with(range.length - 1, spare)));
}

async function addFilters(sins: Sins, log: SampleLog): Promise<void> {
  const filter = [{ path: '/actor/userId', values: ['"u-1"'] }];
  const hidden = (show: typeof withheldContent) =>
    log.entries.map(({ entry, shown }, i) => ({ entry, shown: i === 8 ? show(shown) : shown }));
  const closed = hidden((shown) => closeUnits(shown, (path) => path === '/actor/userId'));
  sins.set(
    'filter-unproven/match-hidden-by-closing.jsonl',
    text(await log.bundle({ filter, lines: closed })),
  );
  sins.set(
    'filter-unproven/match-hidden-by-root.jsonl',
    text(await log.bundle({ filter, lines: hidden(rootsOnly) })),
  );
  sins.set(
    'filter-unproven/filter-that-no-unit-decides.jsonl',
    text(await log.bundle({ filter: { query: 'x' } })),
  );
  const left = log.entries.map(({ entry, shown }) => ({ entry, shown })).toSpliced(8, 1);
  sins.set(
    'index-mismatch/match-left-out-of-a-complete-bundle.jsonl',
    text(await log.bundle({ filter, lines: left })),
  );
}

async function addProofs(sins: Sins, log: SampleLog): Promise<void> {
  const proof = await log.proofOf(13);
  const json = formatEventProof(proof);
  const other = await log.proofOf(12);
  sins.set('leaf-mismatch/event-proof-with-another-value.json', json.replace('payment 13', 'payment 14'));
  sins.set(
    'root-mismatch/event-proof-of-another-event.json',
    formatEventProof({ ...proof, hashes: other.hashes }),
  );
  sins.set(
    'proof-invalid/event-proof-with-a-hash-less.json',
    formatEventProof({ ...proof, hashes: proof.hashes.slice(1) }),
  );
  sins.set(
    'malformed/event-proof-that-names-another-index.json',
    json.replace('"leafIndex":13', '"leafIndex":12'),
  );
  sins.set(
    'malformed/event-proof-with-a-member-twice.json',
    json.replace('"treeSize":20', '"treeSize":20,"treeSize":20'),
  );
}

async function bundleOf(shown: Parameters<typeof contentOf>[0]): Promise<string> {
  const log = await SampleLog.create();
  log.append(VECTOR_EVENT);
  const { entry } = log.entries[0]!;
  const forged = encodeEntry({ ...decodeEntry(entry), content: contentOf(shown) });
  const signed = await SampleLog.create();
  signed.appendEntry(forged, shown);
  return text(await signed.bundle());
}

function resealed(bundle: readonly string[]): string {
  return text(resealedBytes(bundle));
}

function withEntry(line: string, change: (entry: Uint8Array) => Uint8Array): string {
  return line.replace(
    /"e":"([^"]+)"/,
    (_all, e: string) => `"e":"${toBase64(change(Buffer.from(e, 'base64')))}"`,
  );
}

function withByte(base64: string, at: number, byte: number): string {
  return Buffer.from(base64, 'base64')
    .fill(byte, at, at + 1)
    .toString('base64');
}

function swapped(line: string, a: string, b: string): string {
  return line.replace(a, '\0').replace(b, a).replace('\0', b);
}
