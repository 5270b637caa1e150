// tallystick verify with the archive of an export: as a service has made it, and as somebody has changed it.

import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { unzipped } from '../../../server/src/testing/unzipped.ts';
import { until } from '../../../server/src/testing/until.ts';
import { changedArchive, edit } from '../testing/changed-archive.ts';
import { emptyPlace, type Place } from '../testing/place.ts';
import { ADMIN_KEY, type RunningLog, startLog, TENANT } from '../testing/running-log.ts';

const FORMATS = ['JSON', 'NDJSON', 'CSV', 'XML'] as const;

/** What formats have to write so that it comes back. */
const TEXTS = [
  'plain',
  '=SUM(A1)',
  "'quoted'",
  'a "quote", a comma',
  'line\r\nbreak',
  '<event>&amp;</event>\n',
  '\u0001\u001f',
  'späť €😀',
  '',
];

let place: Place;
let log: RunningLog;
let key: string;
const archives = new Map<string, Buffer>();

before(async () => {
  place = emptyPlace();
  log = await startLog(place);
  const events = TEXTS.map((text, i) => ({
    timestamp: `2026-01-02T03:04:0${i}.678Z`,
    actor: { actorType: 'User', userId: `u-${i}`, ...(text !== '' && { userName: text }) },
    action: i % 2 === 0 ? 'Update.Invoice' : 'Delete.Invoice',
    resource: { resourceType: 'Invoice', resourceId: `INV-${i}` },
    context: { text, nested: { list: [text, i, null, true] } },
    payload: { [text]: text, amount: i + 0.5, 'a.b/c~d': {} },
  }));
  await ask('audit-events/batch', { events });
  key = join(place.folder, 'log.key');
  writeFileSync(key, await log.get(`log/t/${TENANT}/key`));
  for (const format of FORMATS) archives.set(format, await exported({ format }));
  const criteria = { filters: { kinds: ['Event', 'Notice'] } };
  archives.set('everything', await exported({ criteria }));
});
after(async () => {
  await log?.[Symbol.asyncDispose]();
  place?.[Symbol.dispose]();
});

async function ask<T>(path: string, body: unknown): Promise<T> {
  const headers = { 'X-API-Key': ADMIN_KEY, 'X-Tenant-Id': TENANT, 'Content-Type': 'application/json' };
  const answer = await fetch(`${log.url}/api/v1/${path}`, {
    headers,
    method: 'POST',
    body: JSON.stringify(body),
  });
  assert.ok(answer.ok, `${path} answers ${answer.status}`);
  return (await answer.json()) as T;
}

async function exported(request: object): Promise<Buffer> {
  const wanted = { compression: 'Zip', includeProofs: true, ...request };
  const { exportId } = await ask<{ exportId: string }>('exports', wanted);
  let url: string | undefined;
  await until(async () => {
    const made = JSON.parse(await log.get(`exports/${exportId}`)) as { status: string; downloadUrl?: string };
    assert.notEqual(made.status, 'Failed', JSON.stringify(made));
    url = made.downloadUrl;
    return url !== undefined;
  });
  return Buffer.from(await (await fetch(url!)).arrayBuffer());
}

async function verify(archive: Buffer, ...words: string[]) {
  const file = join(place.folder, 'export.zip');
  writeFileSync(file, archive);
  const { code, stdout, stderr } = await place.run(['verify', file, '--key', key, '--json', ...words]);
  const said = (stdout === '' ? {} : JSON.parse(stdout)) as Readonly<Record<string, unknown>>;
  return { code, said, stderr };
}

const dataOf = (texts: Map<string, string>) => [...texts.keys()].find((name) => name.startsWith('events.'))!;

function withData(name: string, change: (text: string) => string): Buffer {
  return changedArchive(archives.get(name)!, (texts) => {
    const before = texts.get(dataOf(texts))!;
    const now = change(before);
    assert.notEqual(now, before, 'something is changed');
    texts.set(dataOf(texts), now);
  });
}

describe('tallystick verify, with an export', () => {
  for (const format of FORMATS)
    it(`verifies each row of ${format}`, async () => {
      const { code, said, stderr } = await verify(archives.get(format)!);
      assert.equal(code, 0, JSON.stringify(said) + stderr);
      assert.deepEqual(
        [said['kind'], said['rows'], said['entries'], said['complete'], said['rowsInPart']],
        ['Export', TEXTS.length, TEXTS.length, false, 0],
      );
    });

  it('says that nothing is left out only of an export of everything', async () => {
    const { code, said } = await verify(archives.get('everything')!);
    assert.deepEqual([code, said['complete']], [0, true], JSON.stringify(said));
    const file = join(place.folder, 'export.zip');
    const { stdout } = await place.run(['verify', file, '--key', key]);
    assert.match(stdout, /^verified {2}.*export\.zip\n {2}export .*\n {2}data +events\.json: \d+ rows/);
    assert.match(stdout, /none left out/);
  });

  it('verifies rows in another order than that of the log', async () => {
    const criteria = { sort: [{ field: 'timestamp', order: 'desc' }] };
    const { code, said } = await verify(await exported({ criteria, format: 'CSV' }));
    assert.deepEqual([code, said['rows']], [0, TEXTS.length], JSON.stringify(said));
  });

  it('compares the columns of single values with what the event has', async () => {
    const contentColumns = [
      'payload.amount',
      'context.nested.list[1]',
      'payload."a.b/c~d"',
      'payload.nowhere',
    ];
    const archive = await exported({ format: 'CSV', contentColumns });
    assert.equal((await verify(archive)).code, 0);
    const data = unzipped(archive).get('events.csv')!;
    assert.match(
      data,
      /,payload\.amount,context\.nested\.list\[1\],"payload\.""a\.b\/c~d""",payload\.nowhere\r\n/,
    );
    assert.match(data, /,5\.5,5,\{\},\r\n/);
    const changed = changedArchive(
      archive,
      edit('events.csv', (text) => text.replace(',5.5,5,{},', ',7.5,5,{},')),
    );
    const { code, said } = await verify(changed);
    assert.deepEqual([code, said['reason']], [1, 'ROW_MISMATCH']);
    assert.equal(said['message'], 'row 6: payload.amount is "7.5"; its payload has "5.5" there');
  });

  for (const format of FORMATS) {
    it(`names the row of ${format} of which a field was changed`, async () => {
      const { code, said } = await verify(withData(format, (text) => text.replace('INV-3', 'INV-9')));
      assert.deepEqual([code, said['reason']], [1, 'ROW_MISMATCH'], JSON.stringify(said));
      assert.match(
        String(said['message']),
        /^row 4: resource\.resourceId is "INV-9"; the bundle proves "INV-3"/,
      );
    });

    it(`names the row of ${format} of which content was changed`, async () => {
      const { code, said } = await verify(withData(format, (text) => text.replace('5.5', '6.5')));
      assert.deepEqual([code, said['reason']], [1, 'ROW_MISMATCH'], JSON.stringify(said));
      assert.match(String(said['message']), /^row 6: \/payload\/amount is "6\.5"; the bundle proves "5\.5"/);
    });
  }

  it('names the event of which the row was dropped, and the row that was added', async () => {
    const withoutRow = (place: number) => (text: string) => {
      const lines = text.split('\n');
      return lines.toSpliced(place, 1).join('\n');
    };
    const dropped = await verify(withData('NDJSON', withoutRow(2)));
    assert.deepEqual([dropped.code, dropped.said['reason']], [1, 'ROW_MISMATCH']);
    assert.match(String(dropped.said['message']), /has no row; it is missing before row 3$/);
    const last = await verify(withData('NDJSON', withoutRow(TEXTS.length - 1)));
    assert.match(String(last.said['message']), /has no row; it is missing behind the last row$/);
    const added = await verify(
      withData(
        'NDJSON',
        (text) => text + text.trimEnd().split('\n').at(-1)!.replace('INV-8', 'INV-7') + '\n',
      ),
    );
    assert.deepEqual([added.code, added.said['reason']], [1, 'ROW_MISMATCH']);
    assert.match(String(added.said['message']), /^row 10: event \w+ has no line in the bundle$/);
    const inside = await verify(
      withData('NDJSON', (text) => {
        const lines = text.split('\n');
        return lines.toSpliced(3, 0, lines[3]!).join('\n');
      }),
    );
    assert.match(String(inside.said['message']), /^row 5: eventId is /);
  });

  it('finds a field that was added, and one that was taken out', async () => {
    const added = await verify(
      withData('JSON', (text) => text.replace('"amount":0.5', '"amount":0.5,"x":1')),
    );
    assert.match(String(added.said['message']), /^row 1: \/payload\/x is "1"; the bundle proves nothing/);
    const gone = await verify(withData('JSON', (text) => text.replace('"amount":0.5,', '')));
    assert.match(
      String(gone.said['message']),
      /^row 1: \/payload\/amount is nothing; the bundle proves "0\.5"/,
    );
    const unknown = await verify(withData('JSON', (text) => text.replace('{', '{"note":"paid",')));
    assert.match(String(unknown.said['message']), /^row 1: it has a field "note", which no event has/);
  });

  it('finds by its checksum what no line proves', async () => {
    const { code, said } = await verify(
      withData('NDJSON', (text) => text.replace('Checkpointed', 'Witnessed')),
    );
    assert.deepEqual([code, said['reason']], [1, 'CHECKSUM_MISMATCH'], JSON.stringify(said));
  });

  it('refuses a bundle or a manifest that was changed, and that of another export', async () => {
    const other = unzipped(archives.get('everything')!).get('manifest.json')!;
    const cases: [string, string, (texts: Map<string, string>) => void][] = [
      ['a value', 'LEAF_MISMATCH', edit('evidence.jsonl', (text) => text.replace('INV-3', 'INV-9'))],
      [
        'a line left out',
        'CHECKSUM_MISMATCH',
        edit('evidence.jsonl', (text) => text.replace(/\n.*\n/, '\n')),
      ],
      [
        'a count',
        'SIGNATURE_INVALID',
        edit('manifest.json', (text) => text.replace('"proven":9', '"proven":8')),
      ],
      ['no manifest', 'MALFORMED', (texts) => texts.delete('manifest.json')],
      ['a file beside', 'MALFORMED', (texts) => texts.set('readme.txt', 'all is well')],
      ['another page', 'CHECKSUM_MISMATCH', edit('verify.html', (text) => text.replace('NOT ', ''))],
    ];
    for (const [what, reason, change] of cases) {
      const { code, said } = await verify(changedArchive(archives.get('JSON')!, change));
      // A line that is left out is told by whatever comes first: the count, or the checksum.
      const expected = what === 'a line left out' ? [reason, 'TRUNCATED'] : [reason];
      assert.equal(code, 1, `${what}: ${JSON.stringify(said)}`);
      assert.ok(expected.includes(String(said['reason'])), `${what}: ${JSON.stringify(said)}`);
    }
    const swapped = await verify(
      changedArchive(archives.get('JSON')!, (texts) => texts.set('manifest.json', other)),
    );
    assert.deepEqual([swapped.code, swapped.said['reason']], [1, 'CHECKSUM_MISMATCH']);
  });

  it('verifies an archive without its page, which proves nothing', async () => {
    const bare = changedArchive(archives.get('JSON')!, (texts) => texts.delete('verify.html'));
    const { code, said } = await verify(bare);
    assert.equal(code, 0, JSON.stringify(said));
  });

  it('verifies the folder into which an archive was unpacked, and finds what was changed there', async () => {
    const folder = join(place.folder, 'unpacked');
    mkdirSync(folder);
    for (const [name, text] of unzipped(archives.get('CSV')!)) writeFileSync(join(folder, name), text);
    // A file manager leaves this.
    writeFileSync(join(folder, '.DS_Store'), '');
    const { code, stdout } = await place.run(['verify', folder, '--key', key]);
    assert.deepEqual([code, /^verified {2}.*unpacked\n/.test(stdout)], [0, true], stdout);
    const verdictOf = async () => {
      const run = await place.run(['verify', folder, '--key', key, '--json']);
      return [run.code, (JSON.parse(run.stdout) as { reason: string }).reason];
    };
    const data = readFileSync(join(folder, 'events.csv'), 'utf8');
    writeFileSync(join(folder, 'events.csv'), data.replace('INV-3', 'INV-9'));
    assert.deepEqual(await verdictOf(), [1, 'ROW_MISMATCH']);
    rmSync(join(folder, 'events.csv'));
    assert.deepEqual(await verdictOf(), [1, 'MALFORMED']);
  });

  it('writes the same page that is in the archive', async () => {
    const file = join(place.folder, 'verify.html');
    assert.equal((await place.run(['export', 'page', file])).code, 0);
    assert.equal(readFileSync(file, 'utf8'), unzipped(archives.get('JSON')!).get('verify.html'));
    assert.equal((await place.run(['export', 'page', file])).code, 2, 'and replaces no file');
  });

  it('refuses another key', async () => {
    const other = 'audit.example.com/t/acme+38df7d1a+AUBGtHFZDMZhwJ3+knMasraAcxQL0fq7InuXBaVqR8oG';
    const file = join(place.folder, 'other.zip');
    writeFileSync(file, archives.get('JSON')!);
    const { code, stdout } = await place.run(['verify', file, '--key', other, '--json']);
    assert.deepEqual([code, (JSON.parse(stdout) as { reason: string }).reason], [1, 'ORIGIN_MISMATCH']);
  });

  it('refuses an archive that is cut off, wherever that is', async () => {
    const whole = archives.get('CSV')!;
    for (const length of [30, 1000, whole.length - 100, whole.length - 1]) {
      const { code, said } = await verify(whole.subarray(0, length));
      assert.deepEqual([code, said['reason']], [1, 'TRUNCATED'], `${length} bytes: ${JSON.stringify(said)}`);
    }
  });

  it('refuses an entry that is larger than it says, before it has unpacked all of it', async () => {
    const bomb = changedArchive(archives.get('JSON')!, (texts) =>
      texts.set('events.json', ' '.repeat(50_000_000)),
    );
    const at = bomb.readUInt32LE(bomb.length - 6);
    bomb.writeUInt32LE(1000, at + 24);
    const { code, said } = await verify(bomb);
    assert.deepEqual([code, said['reason']], [1, 'MALFORMED'], JSON.stringify(said));
    assert.match(String(said['message']), /events\.json is larger than the archive says/);
  });
});
