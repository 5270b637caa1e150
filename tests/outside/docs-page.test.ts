// The pages on which people read the interface, in Chromium: they show all operations, ask nobody but the service, break none of
// their own security policy, and an operation can be tried out.

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { OPERATIONS, VERSIONS } from '@tallystick/contract';
import { PLATFORM_KEY, WITH_PLATFORM_KEY } from '../../packages/server/src/testing/admin-caller.ts';
import { startTestApp, type TestApp } from '../../packages/server/src/testing/test-app.ts';
import { type Browser, noBrowser, type Page, startBrowser, watchedPage } from './browser.ts';

describe('the documentation in a browser', { skip: noBrowser }, () => {
  let app: TestApp;
  let browser: Browser;

  before(async () => {
    app = await startTestApp({ ...WITH_PLATFORM_KEY, Telemetry__Level: 'Warn' });
    browser = await startBrowser();
  });
  after(async () => {
    await browser?.close();
    await app?.[Symbol.asyncDispose]();
  });

  async function open(version: string) {
    const watched = await watchedPage(browser, app.url);
    await watched.page.goto(`${app.url}/docs/${version}`);
    await watched.page.waitForSelector('.opblock-tag');
    return watched;
  }

  /** The status of the answer that the page shows. */
  async function tryOut(page: Page, operation: string): Promise<string> {
    const block = `#operations-Events-${operation}`;
    await page.click(`${block} .opblock-summary-control`);
    await page.click(`${block} .try-out__btn`);
    await page.fill(`${block} tr[data-param-name="X-Tenant-Id"] input`, 'acme');
    await page.click(`${block} .execute`);
    await page.waitForSelector(`${block} .live-responses-table .response-col_status`);
    return (await page.innerText(`${block} .live-responses-table tbody .response-col_status`)).slice(0, 3);
  }

  async function authorize(page: Page): Promise<void> {
    await page.click('.auth-wrapper .authorize');
    await page.fill('#api_key_value', PLATFORM_KEY);
    await page.click('.auth-container:has(#api_key_value) .authorize');
    await page.click('.auth-container:has(.btn-done) .btn-done');
  }

  for (const version of VERSIONS) {
    it(`shows every operation of ${version}, and opens one of each group`, async () => {
      const { page, complaints, assertQuiet } = await open(version);
      const served = OPERATIONS.length;
      await page.evaluate(
        `document.querySelectorAll('.opblock-tag[data-is-open="false"]').forEach((tag) => tag.click())`,
      );
      await page.waitForSelector('.opblock-tag-section:last-of-type .opblock');
      const ids = await page.evaluate<string[]>(
        `[...document.querySelectorAll('.opblock')].map(({ id }) => id)`,
      );
      assert.equal(ids.length, served);
      // `operations-Events-eventsList`: the group is in the middle.
      const firsts = new Map(ids.toReversed().map((id) => [id.slice(0, id.lastIndexOf('-')), id]));
      for (const id of firsts.values()) {
        await page.click(`[id="${id}"] .opblock-summary-control`);
        await page.waitForSelector(`[id="${id}"] .responses-inner`);
      }
      assertQuiet();
      // Control: what the policy forbids would have shown.
      await page.evaluate(`fetch('http://127.0.0.1:9/').catch(() => undefined)`);
      assert.match(complaints.join(), /Content Security Policy/);
      await page.close();
    });

    it(`lets an operation of ${version} be tried out`, async () => {
      const { page, requested, assertQuiet } = await open(version);
      await page.evaluate(`document.querySelector('.opblock-tag[data-is-open="false"]').click()`);
      assert.equal(await tryOut(page, 'eventsList'), '401');
      await authorize(page);
      assert.equal(await tryOut(page, 'eventsIngest'), '201');
      assert.ok(requested.includes(`${app.url}/api/${version}/audit-events`));
      // Browsers report that an answer was 401, and nothing else is there to report.
      assertQuiet(/status of 401/);
      await page.close();
    });
  }
});
