// Sins against the form of a bundle: what cannot be read, was cut, or could be read in two ways.

import {
  contentOf,
  decodeEntry,
  encodeEntry,
  groupRootOf,
  openEvent,
  type OpenUnit,
  type ShownEvent,
  sha256,
  tagOf,
  toBase64,
} from '@tallystick/evidence';
import { linesOf } from '../../packages/evidence/src/testing/forgery.ts';
import { SampleLog, VECTOR_EVENT } from '../../packages/evidence/src/testing/sample-log.ts';
import { text } from '../samples.ts';
import { altered, resealed, type Sins, swapped, withByte, withEntry } from './forge.ts';

const NO_SALT = toBase64(new Uint8Array(16));

export async function addSinsAgainstForm(sins: Sins, log: SampleLog): Promise<void> {
  const whole = linesOf(await log.bundle());
  addMalformedLines(sins, whole);
  addMalformedFiles(sins, whole);
  addCut(sins, whole);
  addAltered(sins, whole);
  await addAmbiguous(sins);
  const root = toBase64(groupRootOf(2, log.entries[3]!.shown[1]));
  const invented = altered(
    altered(whole[4]!, 'payment 3', 'payment 9'),
    '"g":[null,null]',
    `"g":[null,"${root}"]`,
  );
  sins.set('path-conflict/units-beside-their-root.jsonl', resealed(whole.with(4, invented)));
  const lines = [3, 8].map((index) => log.provenLine(index));
  const scattered = linesOf(await log.bundle({ complete: false, lines }));
  const unreadable = scattered.with(2, altered(scattered[2]!, '"c":[]', '"c":[,]'));
  sins.set('malformed/unreadable-line-of-a-scattered-bundle.jsonl', resealed(unreadable));
}

function addMalformedLines(sins: Sins, whole: string[]): void {
  const entry = whole[4]!;
  const bad = (sin: string, line: string): unknown =>
    sins.set(`malformed/${sin}.jsonl`, resealed(whole.with(4, line)));
  bad('white-space-in-a-line', altered(entry, '{"e":', '{"e": '));
  bad('member-twice', altered(entry, '"g":[null,null]', '"g":[null,null],"g":[null,null]'));
  bad('member-unknown', altered(entry, '"g":[null,null]', '"g":[null,null],"x":1'));
  bad('members-in-another-order', altered(entry, /^(\{)("e":"[^"]+"),(.*)\}$/, '$1$3,$2}'));
  bad('needless-escape', altered(entry, '"/action"', '"/\\u0061ction"'));
  bad('base64-with-unused-bits', altered(entry, /"e":"([^"]{154})[^"]=/, '"e":"$1B='));
  bad('salt-of-fifteen-bytes', altered(entry, /("\/action",)"[^"]+"/, `$1"${toBase64(new Uint8Array(15))}"`));
  const unit = String.raw`\["(?:[^"\\]|\\.)*","(?:[^"\\]|\\.)*","(?:[^"\\]|\\.)*"\]`;
  bad('units-out-of-order', altered(entry, new RegExp(`"o":\\[(${unit}),(${unit})`), '"o":[$2,$1'));
  bad('proof-of-its-own-in-a-complete-bundle', altered(entry, /\}$/, ',"i":[]}'));
  bad('shown-and-deleted', altered(entry, /\}$/, ',"d":true}'));
  bad('open-unit-deleted', altered(entry, /\}$/, `,"d":["${toBase64(tagOf('/action').bytes)}"]}`));
  bad('entry-of-an-unknown-kind', withByte(entry, 16, 10));
  bad('entry-with-reserved-bits', withByte(entry, 17, 1));
  bad('entry-with-another-label', withByte(entry, 0, 65));
  bad('entry-received-after-the-year-9999', withByte(entry, 29, 20));
}

function addMalformedFiles(sins: Sins, whole: string[]): void {
  const header = (from: string, to: string): string => resealed(whole.with(0, altered(whole[0]!, from, to)));
  sins.set('malformed/another-format.jsonl', header('bundle/1', 'bundle/2'));
  sins.set('malformed/filter-not-canonical.jsonl', header('"filter":null', '"filter":{"b":1,"a":2}'));
  sins.set('malformed/range-backwards.jsonl', header('"from":0,"to":20', '"from":20,"to":0'));
  sins.set('malformed/range-beyond-the-size.jsonl', header('"to":20', '"to":21'));
  sins.set('malformed/no-header.jsonl', resealed(whole.slice(1)));
  sins.set('malformed/unknown-line.jsonl', resealed(whole.toSpliced(5, 0, '{"x":1}')));
  sins.set('malformed/lines-after-the-trailer.jsonl', `${whole.join('\n')}\n${whole[4]}\n`);
}

function addCut(sins: Sins, whole: string[]): void {
  const last = whole.length - 1;
  sins.set('truncated/no-trailer.jsonl', `${whole.slice(0, last).join('\n')}\n`);
  sins.set('truncated/no-last-newline.jsonl', whole.join('\n'));
  sins.set('truncated/empty-file.jsonl', '');
  sins.set('truncated/tail-cut.jsonl', resealed(whole.toSpliced(last - 1, 1)));
  const uncounted = whole
    .toSpliced(last - 1, 1)
    .with(last - 1, altered(whole[last]!, '"entries":20', '"entries":19'));
  sins.set('truncated/tail-cut-and-counted-anew.jsonl', resealed(uncounted));
  sins.set('index-mismatch/head-cut.jsonl', resealed(whole.toSpliced(1, 1)));
  sins.set('index-mismatch/entry-left-out.jsonl', resealed(whole.toSpliced(9, 1)));
  sins.set('index-mismatch/entries-swapped.jsonl', resealed(whole.with(9, whole[10]!).with(10, whole[9]!)));
  sins.set('index-mismatch/entry-twice.jsonl', resealed(whole.toSpliced(9, 0, whole[9]!)));
  const sum = /"sha256":"(.)/.exec(whole[last]!)![1]!;
  const wrong = altered(whole[last]!, /"sha256":"./, `"sha256":"${sum === 'a' ? 'b' : 'a'}`);
  sins.set('checksum-mismatch/checksum-of-another-file.jsonl', `${whole.with(last, wrong).join('\n')}\n`);
}

function addAltered(sins: Sins, whole: string[]): void {
  const entry = whole[4]!;
  const put = (sin: string, line: string): unknown => sins.set(`${sin}.jsonl`, resealed(whole.with(4, line)));
  put('leaf-mismatch/value-changed', altered(entry, 'payment 3', 'payment 4'));
  put('leaf-mismatch/salt-changed', altered(entry, /("\/action",)"[^"]+"/, `$1"${NO_SALT}"`));
  put('leaf-mismatch/unit-left-out', altered(entry, /\["\/action",[^\]]*\],/, ''));
  put('leaf-mismatch/value-moved-to-another-unit', swapped(entry, '"\\"Delete.Invoice\\""', '"\\"INV-3\\""'));
  put('value-not-canonical/number-with-trailing-zero', altered(entry, '"4.5"', '"4.50"'));
  put('value-not-canonical/white-space-inside', altered(entry, '{\\"qty\\":3', '{ \\"qty\\":3'));
  const line = '{\\"qty\\":3,\\"sku\\":\\"a/b\\"}';
  put('value-not-canonical/keys-out-of-order', altered(entry, line, '{\\"sku\\":\\"a/b\\",\\"qty\\":3}'));
  put('value-not-canonical/key-twice', altered(entry, '{\\"qty\\":3', '{\\"qty\\":3,\\"qty\\":3'));
  put('path-unknown/path-outside-the-list', altered(entry, '"/payload/note"', '"/note"'));
  put('path-unknown/path-too-deep', altered(entry, '"/payload/note"', '"/payload/note/text"'));
  put('path-unknown/wrong-escape', altered(entry, '"/payload/note"', '"/payload/no~2te"'));
  put('path-conflict/path-twice', altered(entry, /(\["\/action",[^\]]*\]),/, '$1,$1,'));
  const earlier = (bytes: Uint8Array): Uint8Array => encodeEntry({ ...decodeEntry(bytes), receivedAtMs: 1 });
  put(
    'chain-broken/previous-changed',
    withEntry(entry, (bytes) => encodeEntry({ ...decodeEntry(bytes), previous: sha256() })),
  );
  put(
    'index-mismatch/index-changed',
    withEntry(entry, (bytes) => encodeEntry({ ...decodeEntry(bytes), index: 4 })),
  );
  const last = whole.length - 2;
  const backdated = resealed(whole.with(last, withEntry(whole[last]!, earlier)));
  sins.set('root-mismatch/time-of-the-last-entry-changed.jsonl', backdated);
}

/** Leaves that could be read in two ways, in a log that signs them all the same. */
async function addAmbiguous(sins: Sins): Promise<void> {
  const salt = (): Uint8Array => new Uint8Array(16).fill(7);
  const [group1, group2] = openEvent(VECTOR_EVENT, salt);
  const unit = (path: string, value: string): OpenUnit => ({ tag: tagOf(path), path, value, salt: salt() });
  if (!('units' in group2)) return;
  const put = async (sin: string, shown: ShownEvent): Promise<unknown> =>
    sins.set(`path-conflict/${sin}.jsonl`, await signedAllTheSame(shown));
  await put('payload-not-opened', [group1, { units: [unit('/payload', '{"amount":9}')] }]);
  await put('action-not-opened', [{ units: [unit('/action', '{"a":1}')] }, group2]);
  const beside = [...group2.units, unit('/payload', '[]')].sort((a, b) => a.tag.order - b.tag.order);
  await put('payload-beside-its-own-keys', [group1, { units: beside }]);
  const many = Array.from({ length: 241 }, (_, i) => unit(`/payload/k${i}`, '1'));
  await put('more-keys-than-are-opened', [group1, { units: many.sort((a, b) => a.tag.order - b.tag.order) }]);
  const endsLikeOne: ShownEvent = [group1, { units: [unit('x/payload/amount', '9')] }];
  sins.set('path-unknown/path-that-only-ends-like-one.jsonl', await signedAllTheSame(endsLikeOne));
}

async function signedAllTheSame(shown: ShownEvent): Promise<string> {
  const honest = await SampleLog.create();
  const { entry } = honest.append(VECTOR_EVENT);
  const log = await SampleLog.create();
  log.appendEntry(encodeEntry({ ...decodeEntry(entry), content: contentOf(shown) }), shown);
  return text(await log.bundle());
}
