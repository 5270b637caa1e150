// Sins against exports: what a forger changes in the data, in the bundle beside it, or in the manifest. Where a manifest is signed anew, it is
// the service that lies.

import { MANIFEST_NAME, noteSigner, parseJson, sha256, type Signer } from '@tallystick/evidence';
import type { SampleLog } from '../../packages/evidence/src/testing/sample-log.ts';
import type { ExportFiles } from '../exports.ts';
import { signedManifest } from '../samples.ts';
import { altered } from './forge.ts';

/** `<reason>/<sin>` → its files. */
type SinsOfExports = Map<string, ExportFiles>;

interface Manifest {
  readonly origin: string;
  readonly counts: { readonly exported: number; readonly proven: number };
  readonly entries: readonly object[];
  readonly signatures?: readonly string[];
  readonly [member: string]: unknown;
}

export async function addSinsOfExports(
  valid: ReadonlyMap<string, ExportFiles>,
  log: SampleLog,
): Promise<SinsOfExports> {
  const sins: SinsOfExports = new Map();
  addChangedRows(sins, valid);
  addChangedFiles(sins, valid);
  await addChangedManifests(sins, valid.get('criteria-csv')!, log.signer);
  return sins;
}

/** The files of a sound export with one text changed. */
function edited(files: ExportFiles, name: string, change: (text: string) => string): ExportFiles {
  const before = files.get(name)!;
  const now = change(before);
  if (now === before) throw new Error(`${name} is not changed`);
  return new Map(files).set(name, now);
}

function addChangedRows(sins: SinsOfExports, valid: ReadonlyMap<string, ExportFiles>): void {
  const put = (sin: string, of: string, name: string, change: (text: string) => string): void => {
    sins.set(`row-mismatch/${sin}`, edited(valid.get(of)!, name, change));
  };
  const row = (place: number, change: (line: string) => string[]) => (data: string) => {
    const lines = data.split('\n');
    return lines.toSpliced(place, 1, ...change(lines[place]!)).join('\n');
  };
  const csv = (sin: string, change: (text: string) => string): void =>
    put(sin, 'criteria-csv', 'events.csv', change);
  csv('cell-changed', (data) => altered(data, 'INV-3', 'INV-9'));
  csv('cell-emptied', (data) => altered(data, 'INV-3', ''));
  csv('formula-not-marked', (data) => altered(data, `''=SUM`, `'=SUM`));
  csv('columns-swapped', (data) =>
    altered(data, 'actor.userId,actor.userName', 'actor.userName,actor.userId'),
  );
  put('content-column-changed', 'content-columns-csv', 'events.csv', (data) =>
    altered(data, ',4.5,3,', ',4.6,3,'),
  );
  put('content-column-renamed', 'content-columns-csv', 'events.csv', (data) =>
    altered(data, 'payload.amount', 'payload.total'),
  );
  const ndjson = (sin: string, change: (text: string) => string): void =>
    put(sin, 'criteria-ndjson', 'events.ndjson', change);
  ndjson('payload-changed', (data) => altered(data, '"amount":4.5', '"amount":4.6'));
  ndjson('member-added-to-payload', (data) => altered(data, '"amount":4.5', '"amount":4.5,"paid":true'));
  ndjson('field-that-no-event-has', (data) => altered(data, '{"eventId"', '{"note":"paid","eventId"'));
  ndjson('withheld-value-shown', (data) =>
    altered(altered(data, '[REDACTED]', 'payment 3'), /,"redaction":[^}]*AccessPolicy"\}/, ''),
  );
  ndjson(
    'row-left-out',
    row(1, () => []),
  );
  ndjson(
    'last-row-left-out',
    row(3, () => []),
  );
  ndjson(
    'row-twice',
    row(1, (line) => [line, line]),
  );
  ndjson('rows-swapped', (data) => {
    const [first, second, ...others] = data.split('\n');
    return [second, first, ...others].join('\n');
  });
  const xml = (sin: string, change: (text: string) => string): void =>
    put(sin, 'criteria-xml', 'events.xml', change);
  xml('element-changed', (data) => altered(data, '<resourceId>INV-3<', '<resourceId>INV-9<'));
  xml('element-twice', (data) => altered(data, /(<action>[^<]*<\/action>)/, '$1$1'));
  put('row-of-a-withheld-event', 'everything', 'events.json', (data) =>
    altered(data, /(\n\{[^\n]*"sequence":5,[^\n]*)/, '$1$1'),
  );
}

function addChangedFiles(sins: SinsOfExports, valid: ReadonlyMap<string, ExportFiles>): void {
  const whole = valid.get('everything')!;
  const some = valid.get('criteria-csv')!;
  // What no leaf holds is covered by the checksum alone.
  const status = edited(some, 'events.csv', (data) => altered(data, 'Checkpointed', 'Witnessed'));
  sins.set('checksum-mismatch/what-no-leaf-holds-changed', status);
  sins.set(
    'checksum-mismatch/another-page',
    edited(whole, 'verify.html', (page) => altered(page, 'In the place', 'Verified')),
  );
  // Its line has a root alone in the place of both, and the row says itself that something is withheld.
  sins.set(
    'checksum-mismatch/content-of-a-withheld-event-shown',
    edited(whole, 'events.json', (data) =>
      altered(data, '"context":{},"payload":{}', '"context":{},"payload":{"amount":3}'),
    ),
  );
  const other = valid.get('criteria-xml')!.get(MANIFEST_NAME)!;
  const data = some.get('events.csv')!;
  sins.set(
    'malformed/data-of-another-format',
    new Map([...some].filter(([name]) => name !== 'events.csv'))
      .set('events.xml', data)
      .set(MANIFEST_NAME, other),
  );
  sins.set(
    'leaf-mismatch/value-in-the-bundle-changed',
    edited(some, 'evidence.jsonl', (bundle) => altered(bundle, 'INV-3', 'INV-9')),
  );
  sins.set(
    'truncated/data-cut',
    edited(some, 'events.csv', (all) => all.slice(0, -20)),
  );
  sins.set('malformed/file-beside', new Map(some).set('read-me-first.txt', 'All is well.\n'));
  sins.set('malformed/no-manifest', new Map([...some].filter(([name]) => name !== MANIFEST_NAME)));
  sins.set('malformed/no-bundle', new Map([...some].filter(([name]) => name !== 'evidence.jsonl')));
}

async function addChangedManifests(sins: SinsOfExports, files: ExportFiles, signer: Signer): Promise<void> {
  const { signatures: _, ...manifest } = parseJson(files.get(MANIFEST_NAME)!) as Manifest;
  const put = (sin: string, change: (text: string) => string): void => {
    sins.set(sin, edited(files, MANIFEST_NAME, change));
  };
  put('signature-invalid/count-changed', (text) => altered(text, '"exported":4', '"exported":3'));
  put('signature-invalid/criteria-changed', (text) => altered(text, '"Create.*",', ''));
  put('malformed/white-space-in-the-manifest', (text) => altered(text, '{"checkpoint"', '{ "checkpoint"'));
  put('malformed/no-signatures', (text) => altered(text, /"signatures":\[[^\]]*\]/, '"signatures":[]'));
  const sign = async (sin: string, changes: object, by = signer): Promise<void> => {
    sins.set(sin, new Map(files).set(MANIFEST_NAME, await signedManifest({ ...manifest, ...changes }, by)));
  };
  const { counts, entries, origin } = manifest;
  await sign('malformed/more-proven-than-the-bundle-has', { counts: { ...counts, proven: 5 } });
  await sign('malformed/complete-and-the-bundle-is-not', {
    range: { ...(manifest['range'] as object), complete: true },
  });
  await sign('malformed/criteria-of-another-export', { criteria: {} });
  await sign('malformed/another-format', { format: 'audit-export/2' });
  await sign('malformed/one-entry', { entries: entries.slice(0, 1) });
  await sign('truncated/more-rows-counted', { counts: { ...counts, exported: 5 } });
  await sign('malformed/content-column-of-another-path', {
    contentColumns: { 'payload.amount': ['payload', 'note'] },
  });
  await sign('origin-mismatch/manifest-of-another-log', { origin: `${origin}x` });
  const another = await noteSigner(origin, sha256(new TextEncoder().encode('another key')));
  await sign('key-unknown/signed-by-another-key', {}, another);
}
