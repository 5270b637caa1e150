// The page that verifies exports, opened from a file in Chromium: it says what `tallystick verify` says, and asks nothing of any network.

import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { pathToFileURL } from 'node:url';
import { changedArchive, edit } from '../../packages/cli/src/testing/changed-archive.ts';
import { emptyPlace, type Place } from '../../packages/cli/src/testing/place.ts';
import { ADMIN_KEY, type RunningLog, startLog, TENANT } from '../../packages/cli/src/testing/running-log.ts';
import { unzipped } from '../../packages/server/src/testing/unzipped.ts';
import { until } from '../../packages/server/src/testing/until.ts';
import { type Browser, noBrowser, type Page, startBrowser } from './browser.ts';

const OTHER_KEY = 'audit.example.com/t/acme+38df7d1a+AUBGtHFZDMZhwJ3+knMasraAcxQL0fq7InuXBaVqR8oG';

describe('the page that verifies exports', { skip: noBrowser }, () => {
  let place: Place;
  let log: RunningLog;
  let browser: Browser;
  let key: string;
  let csv: Buffer;
  let everything: Buffer;
  const requested: string[] = [];
  const complaints: string[] = [];

  before(async () => {
    place = emptyPlace();
    log = await startLog(place);
    await ask('audit-events/batch', { events: Array.from({ length: 200 }, (_, i) => eventAt(i)) });
    key = (await log.get(`log/t/${TENANT}/key`)).trim();
    csv = await exported({ format: 'CSV' });
    everything = await exported({ criteria: { filters: { kinds: ['Event', 'Notice'] } } });
    writeFileSync(join(place.folder, 'verify.html'), unzipped(csv).get('verify.html')!);
    browser = await startBrowser();
  });
  after(async () => {
    await browser?.close();
    await log?.[Symbol.asyncDispose]();
    place?.[Symbol.dispose]();
  });

  const eventAt = (i: number) => ({
    timestamp: new Date(Date.UTC(2026, 0, 1, 0, 0, i)).toISOString(),
    actor: { actorType: 'User', userId: `u-${i}`, userName: '<b>bold</b>' },
    action: i % 2 === 0 ? 'Update.Invoice' : 'Delete.Invoice',
    resource: { resourceType: 'Invoice', resourceId: `INV-${i}` },
    payload: { amount: i + 0.5, note: `=SUM(A1) "quoted", ${i}` },
  });

  async function ask<T>(path: string, body: unknown): Promise<T> {
    const headers = { 'X-API-Key': ADMIN_KEY, 'X-Tenant-Id': TENANT, 'Content-Type': 'application/json' };
    const init = { headers, method: 'POST', body: JSON.stringify(body) };
    const answer = await fetch(`${log.url}/api/v1/${path}`, init);
    assert.ok(answer.ok, `${path} answers ${answer.status}`);
    return (await answer.json()) as T;
  }

  async function exported(request: object): Promise<Buffer> {
    const wanted = { compression: 'Zip', includeProofs: true, ...request };
    const { exportId } = await ask<{ exportId: string }>('exports', wanted);
    let url: string | undefined;
    await until(async () => {
      ({ downloadUrl: url } = JSON.parse(await log.get(`exports/${exportId}`)) as { downloadUrl?: string });
      return url !== undefined;
    });
    return Buffer.from(await (await fetch(url!)).arrayBuffer());
  }

  async function openPage(): Promise<Page> {
    const page = await browser.newPage();
    page.on('request', (request) => requested.push(request.url()));
    page.on('pageerror', (error) => complaints.push(String(error)));
    page.on('console', (message) => complaints.push(message.text()));
    await page.goto(pathToFileURL(join(place.folder, 'verify.html')).href);
    return page;
  }

  /** What the page says of the files, and what the command says. */
  async function verdictOn(files: Buffer | Map<string, string>, withKey = key) {
    const folder = join(place.folder, 'chosen');
    mkdirSync(folder, { recursive: true });
    const chosen = Buffer.isBuffer(files) ? new Map([['export.zip', files]]) : files;
    const paths = [...chosen].map(([name, bytes]) => {
      writeFileSync(join(folder, name), bytes);
      return join(folder, name);
    });
    const page = await openPage();
    await page.setInputFiles('#file', paths);
    await page.fill('#key', withKey);
    await page.waitForSelector('#verify:enabled, #verdict:not([hidden])');
    if (!(await page.isDisabled('#verify'))) await page.click('#verify');
    await page.waitForSelector('#verdict:not([hidden])');
    const title = await page.innerText('#verdict-title');
    assert.ok(await page.evaluate(`document.getElementById('unable').hidden`), 'the browser is able to');
    const rows = await page.evaluate<[string, string][]>(
      `[...document.querySelectorAll('#verdict-rows dt')].map((dt) => [dt.textContent, dt.nextElementSibling.textContent])`,
    );
    await page.close();
    return { title, rows: Object.fromEntries(rows) };
  }

  async function commandOn(archive: Buffer, withKey = key): Promise<Record<string, string>> {
    const file = join(place.folder, 'export.zip');
    writeFileSync(file, archive);
    const { stdout } = await place.run(['verify', file, '--key', withKey]);
    const rows = stdout.split('\n').flatMap((line) => {
      const [, name, said] = /^ {2}(.{10}) (.*)$/.exec(line) ?? [];
      return name === undefined ? [] : [[name.trim(), said!]];
    });
    return Object.fromEntries(rows) as Record<string, string>;
  }

  it('verifies a sound export, and says what the command says', async () => {
    for (const archive of [csv, everything]) {
      const { title, rows } = await verdictOn(archive);
      assert.equal(title, 'Verified: export.zip');
      assert.deepEqual(rows, await commandOn(archive));
    }
  });

  it('says that nothing is left out of an export of everything alone', async () => {
    assert.match((await verdictOn(csv)).rows['entries']!, /^200, may not be all$/);
    assert.match((await verdictOn(everything)).rows['entries']!, /, none left out$/);
  });

  it('verifies the files of an archive that was unpacked', async () => {
    const { title, rows } = await verdictOn(unzipped(csv));
    assert.match(title, /^Verified: events\.csv, evidence\.jsonl, verify\.html, manifest\.json$/);
    assert.deepEqual(rows, await commandOn(csv));
    const incomplete = unzipped(csv);
    incomplete.delete('evidence.jsonl');
    incomplete.delete('verify.html');
    assert.match((await verdictOn(incomplete)).rows['because']!, /evidence\.jsonl is not among/);
  });

  const refusals: readonly [string, string, (archive: Buffer) => Buffer][] = [
    [
      'a data row that was altered',
      'ROW_MISMATCH at index 7',
      (archive) =>
        changedArchive(
          archive,
          edit('events.csv', (text) => text.replace('INV-7,', 'INV-9,')),
        ),
    ],
    [
      'a line of the bundle that was altered',
      'LEAF_MISMATCH at index 7',
      (archive) =>
        changedArchive(
          archive,
          edit('evidence.jsonl', (text) => text.replace('INV-7\\"', 'INV-9\\"')),
        ),
    ],
    [
      'a manifest that was altered',
      'SIGNATURE_INVALID',
      (archive) =>
        changedArchive(
          archive,
          edit('manifest.json', (text) => text.replace('"proven":200', '"proven":199')),
        ),
    ],
    ['an archive that is cut off', 'TRUNCATED', (archive) => archive.subarray(0, archive.length - 1000)],
    [
      'data that does not unpack',
      'MALFORMED',
      // The first block is of a kind that there is not.
      (archive) => archive.with('PK'.length + 28 + 'events.csv'.length, 7) as Buffer,
    ],
  ];
  for (const [what, reason, change] of refusals)
    it(`refuses ${what}, as the command does`, async () => {
      const altered = Buffer.from(change(csv));
      const { title, rows } = await verdictOn(altered);
      assert.equal(title, 'NOT verified: export.zip');
      assert.equal(rows['reason'], reason, JSON.stringify(rows));
      assert.deepEqual(rows, await commandOn(altered));
    });

  it('names the row and the value that do not match', async () => {
    const { rows } = await verdictOn(refusals[0]![2](csv));
    assert.match(
      rows['because']!,
      /^row 8: resource\.resourceId is "INV-9"; the bundle proves "INV-7" of event/,
    );
  });

  it('refuses another key, and tells a mistake in the key from a fault of the file', async () => {
    assert.equal((await verdictOn(csv, OTHER_KEY)).rows['reason'], 'ORIGIN_MISMATCH');
    const sameName = OTHER_KEY.replace(/^[^+]*/, key.slice(0, key.indexOf('+')));
    const mistyped = await verdictOn(csv, sameName);
    assert.equal(mistyped.title, 'No verdict');
    assert.match(mistyped.rows['key']!, /^This is no public key of a log: /);
  });

  it('shows which key is said to have signed, before anything is verified', async () => {
    const page = await openPage();
    const file = join(place.folder, 'export.zip');
    writeFileSync(file, csv);
    await page.setInputFiles('#file', file);
    await page.waitForSelector('#signed:not([hidden])');
    assert.equal(await page.innerText('#signers'), key.slice(0, key.lastIndexOf('+', key.indexOf('+') + 9)));
    assert.ok(await page.isDisabled('#verify'), 'nothing is verified without a key');
    await page.close();
  });

  it('shows what the files say as text, and never as markup', async () => {
    const hostile = changedArchive(
      csv,
      edit('events.csv', (text) => text.replace('INV-7,', '<img src=x onerror=alert(1)>,')),
    );
    const { rows } = await verdictOn(hostile);
    assert.match(rows['because']!, /<img src=x onerror=alert\(1\)>/);
  });

  it('has asked nothing of any network, and could not have', async () => {
    const own = pathToFileURL(join(place.folder, 'verify.html')).href;
    assert.deepEqual(new Set(requested), new Set([own]));
    assert.deepEqual(complaints, []);
    const page = await openPage();
    const outcome = await page.evaluate<string>(
      `fetch('${log.url}/health').then(() => 'asked', (error) => String(error))`,
    );
    assert.match(outcome, /TypeError/);
    assert.match(complaints.join(), /Content Security Policy/);
    await page.close();
  });
});
