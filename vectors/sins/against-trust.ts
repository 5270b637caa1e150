// Sins against who signed, what a proof proves, and what a filter promises.

import {
  BundleWriter,
  closeUnits,
  formatEventProof,
  formatTlogProof,
  KINDS,
  noteSigner,
  sha256,
  showRoots,
  toBase64,
  withholdContent,
} from '@tallystick/evidence';
import { linesOf } from '../../packages/evidence/src/testing/forgery.ts';
import { SampleLog } from '../../packages/evidence/src/testing/sample-log.ts';
import { text } from '../samples.ts';
import { altered, resealed, type Sins } from './forge.ts';

export async function addSinsAgainstTrust(sins: Sins, log: SampleLog): Promise<void> {
  await addSignatures(sins, log);
  await addRangeProofs(sins, log);
  await addFilters(sins, log);
  await addEventProofs(sins, log);
}

async function addSignatures(sins: Sins, log: SampleLog): Promise<void> {
  const whole = linesOf(await log.bundle());
  const last = whole.length - 1;
  const trailer = whole[last]!;
  const put = (sin: string, line: string): unknown =>
    sins.set(`${sin}.jsonl`, resealed(whole.with(last, line)));
  const signature = /acme ([A-Za-z0-9+/=]+)\\n/.exec(trailer)![1]!;
  const bytes = Buffer.from(signature, 'base64');
  bytes[40]! ^= 1;
  put('signature-invalid/signature-bit-turned', altered(trailer, signature, bytes.toString('base64')));
  const root = /\\n20\\n([^\\]+)\\n/.exec(trailer)![1]!;
  put('signature-invalid/root-changed', altered(trailer, root, toBase64(sha256())));
  const stranger = await noteSigner(log.origin, sha256(new TextEncoder().encode('another key')));
  const { checkpoint } = JSON.parse(trailer) as { checkpoint: string };
  const body = checkpoint.slice(0, checkpoint.indexOf('\n\n') + 1);
  const line = Buffer.concat([Buffer.from(stranger.keyId, 'hex'), await stranger.sign(body)]).toString(
    'base64',
  );
  put('key-unknown/signed-by-another-key', altered(trailer, signature, line));
  const smaller = JSON.stringify(await log.checkpoint(19));
  put('root-mismatch/checkpoint-of-another-size', altered(trailer, JSON.stringify(checkpoint), smaller));
}

async function addRangeProofs(sins: Sins, log: SampleLog): Promise<void> {
  const range = linesOf(await log.bundle({ from: 5, to: 12 }));
  const put = (sin: string, line: string): unknown =>
    sins.set(`${sin}.jsonl`, resealed(range.with(range.length - 1, line)));
  const trailer = range.at(-1)!;
  put(
    'root-mismatch/proof-hashes-swapped',
    altered(trailer, /"proof":\[("[^"]+"),("[^"]+")/, '"proof":[$2,$1'),
  );
  put('proof-invalid/spare-hash', altered(trailer, '"proof":[', `"proof":["${toBase64(sha256())}",`));
  put(
    'malformed/hash-of-another-length',
    altered(trailer, '"proof":[', `"proof":["${toBase64(new Uint8Array(31))}",`),
  );
  const scattered = { complete: false, filter: 'x' };
  const { inclusion: _none, ...bare } = log.provenLine(3);
  sins.set('malformed/entry-without-proof.jsonl', text(await log.bundle({ ...scattered, lines: [bare] })));
  const borrowed = { ...log.provenLine(3), inclusion: log.provenLine(5).inclusion! };
  sins.set(
    'root-mismatch/proof-of-another-entry.jsonl',
    text(await log.bundle({ ...scattered, lines: [borrowed] })),
  );
  const backwards = [log.provenLine(5), log.provenLine(3)];
  sins.set(
    'index-mismatch/entries-backwards.jsonl',
    text(await log.bundle({ ...scattered, lines: backwards })),
  );
  const lines = linesOf(await log.bundle({ ...scattered, lines: [log.provenLine(3)] }));
  const proof = altered(lines.at(-1)!, '"proof":[]', `"proof":["${toBase64(sha256())}"]`);
  sins.set('proof-invalid/proof-that-proves-nothing.jsonl', resealed(lines.with(lines.length - 1, proof)));
}

async function addFilters(sins: Sins, log: SampleLog): Promise<void> {
  const filter = [{ path: '/actor/userId', values: ['"u-1"'] }];
  const put = async (sin: string, options: Parameters<SampleLog['bundle']>[0]): Promise<unknown> =>
    sins.set(`${sin}.jsonl`, text(await log.bundle(options)));
  const hidden = (show: typeof withholdContent) =>
    log.entries.map(({ entry, shown }, i) => ({ entry, shown: i === 8 ? show(shown) : shown }));
  const closed = hidden((shown) => closeUnits(shown, (path) => path === '/actor/userId'));
  await put('filter-unproven/match-hidden-by-closing', { filter, lines: closed });
  await put('filter-unproven/match-hidden-by-root', { filter, lines: hidden(showRoots) });
  await put('filter-unproven/filter-that-no-unit-decides', { filter: { query: 'x' } });
  const allClosed = log.entries.map(({ entry, shown }) => ({ entry, shown: closeUnits(shown, () => true) }));
  const onPayload = [{ path: '/payload', values: ['{"amount":12}'] }];
  await put('filter-unproven/filter-on-a-field-that-is-opened', { filter: onPayload, lines: allClosed });
  const left = log.entries.map(({ entry, shown }) => ({ entry, shown })).toSpliced(8, 1);
  await put('index-mismatch/match-left-out-of-a-complete-bundle', { filter, lines: left });
}

async function addEventProofs(sins: Sins, log: SampleLog): Promise<void> {
  const proof = await log.proofOf(13);
  const { hashes, checkpoint, shown } = proof;
  const json = formatEventProof(proof);
  const other = await log.proofOf(12);
  sins.set('leaf-mismatch/event-proof-with-another-value.json', altered(json, 'payment 13', 'payment 14'));
  sins.set(
    'root-mismatch/event-proof-of-another-event.json',
    formatEventProof({ ...proof, hashes: other.hashes }),
  );
  sins.set(
    'proof-invalid/event-proof-with-a-hash-less.json',
    formatEventProof({ ...proof, hashes: hashes.slice(1) }),
  );
  sins.set(
    'malformed/event-proof-that-names-another-index.json',
    altered(json, '"leafIndex":13', '"leafIndex":12'),
  );
  sins.set(
    'malformed/event-proof-with-a-member-twice.json',
    altered(json, '"treeSize":20', '"treeSize":20,"treeSize":20'),
  );
  const line = text(new BundleWriter().entry({ ...log.provenLine(13), shown })).trimEnd();
  const extra = new TextEncoder().encode(line);
  sins.set(
    'malformed/event-proof-with-a-bundle-line.txt',
    formatTlogProof({ extra, index: 13, hashes, checkpoint }),
  );
  const noted = await SampleLog.create();
  noted.notice(KINDS.legalHold, { holdId: '01KE0000000000000000000001', act: 'Placed', policyId: null });
  const withheld = await noted.proofOf(0, withholdContent(noted.entries[0]!.shown));
  sins.set('notice-invalid/event-proof-of-a-withheld-notice.json', formatEventProof(withheld));
}
