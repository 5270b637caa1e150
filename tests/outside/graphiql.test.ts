// GraphiQL in Chromium: it asks nobody but the service, breaks none of its own security policy, runs a query with the credential
// that was entered, follows the log, and keeps nothing beyond the page.

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { VERSIONS } from '@tallystick/contract';
import { PLATFORM_KEY, WITH_PLATFORM_KEY } from '../../packages/server/src/testing/admin-caller.ts';
import { ask } from '../../packages/server/src/testing/ask.ts';
import { EVENT } from '../../packages/server/src/testing/bound-operations.ts';
import { startTestApp, type TestApp } from '../../packages/server/src/testing/test-app.ts';
import { type Browser, noBrowser, type Page, startBrowser, watchedPage } from './browser.ts';

const HEADERS = JSON.stringify({ 'X-API-Key': PLATFORM_KEY, 'X-Tenant-Id': 'acme' });

/** The editor whose text says so. */
const editorOf = (text: string) =>
  `[...document.querySelectorAll('.CodeMirror')].find(({ CodeMirror }) => CodeMirror.getValue().includes('${text}')).CodeMirror`;

async function shown(page: Page, selector: string, text: string): Promise<void> {
  await page.waitForSelector(`${selector}:has-text(${JSON.stringify(text)})`);
}

describe('GraphiQL in a browser', { skip: noBrowser }, () => {
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
    const { page } = watched;
    await page.goto(`${app.url}/graphql/${version}`);
    // Who is not known is told so.
    await shown(page, '.result-window', 'UNAUTHENTICATED');
    await page.evaluate(`${editorOf('X-API-Key')}.setValue(${JSON.stringify(HEADERS)})`);
    return watched;
  }

  async function ingest(action: string): Promise<void> {
    const { code } = await ask(app, 'POST', '/api/v2/audit-events', {
      key: PLATFORM_KEY,
      tenant: 'acme',
      body: { ...EVENT, action },
    });
    assert.equal(code, '201');
  }

  for (const version of VERSIONS) {
    it(`runs a query of ${version} as the caller whose key is entered, and shows the schema`, async () => {
      const { page, requested, complaints, assertQuiet } = await open(version);
      await page.click('.graphiql-execute-button');
      await shown(page, '.result-window', '"nodes"');
      await page.click('[aria-label="Re-fetch GraphQL schema"]');
      await page.click('[aria-label="Show Documentation Explorer"]');
      await shown(page, '.graphiql-doc-explorer', 'Mutation');
      assert.ok(requested.every((url) => url.startsWith('data:') || url.startsWith(`${app.url}/graphql/`)));
      assertQuiet(/status of 401/);
      // Control: what the policy forbids would have shown.
      await page.evaluate(`fetch('http://127.0.0.1:9/').catch(() => undefined)`);
      assert.match(complaints.join(), /Content Security Policy/);
      await page.close();
    });
  }

  it('follows the log until it is told to stop', async () => {
    const { page, assertQuiet } = await open('v2');
    await page.evaluate(
      `${editorOf('events(first')}.setValue('subscription { logGrew(fromSequence: 1) { sequence action } }')`,
    );
    await page.click('.graphiql-execute-button');
    await ingest('First.Event');
    await shown(page, '.result-window', 'First.Event');
    await ingest('Second.Event');
    await shown(page, '.result-window', 'Second.Event');
    await page.click('.graphiql-execute-button');
    await page.waitForSelector('.graphiql-execute-button[aria-label^="Execute"]');
    assertQuiet(/status of 401/);
    await page.close();
  });

  it('keeps nothing in the browser beyond the page', async () => {
    const { page } = await open('v2');
    await page.click('.graphiql-execute-button');
    await shown(page, '.result-window', '"nodes"');
    const kept = await page.evaluate<string>('JSON.stringify([{ ...localStorage }, { ...sessionStorage }])');
    assert.equal(kept, '[{},{}]');
    await page.click('[aria-label="Show History"]');
    await shown(page, '.graphiql-history', 'events(first: 10)');
    await page.close();
  });
});
