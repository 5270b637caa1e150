// Chromium as it is installed here, driven by playwright-core, for tests of pages. Both are optional: the driver is loaded only when
// a browser is there.

import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';

const CHROMIUM = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find((path) =>
  existsSync(path),
);

/** What of the driver these tests use. */
export interface Page {
  goto(url: string): Promise<unknown>;
  on(type: 'request', listener: (request: { url(): string }) => void): void;
  on(type: 'console', listener: (message: { type(): string; text(): string }) => void): void;
  on(type: 'pageerror', listener: (error: Error) => void): void;
  setInputFiles(selector: string, files: string | readonly string[]): Promise<void>;
  fill(selector: string, text: string): Promise<void>;
  click(selector: string): Promise<void>;
  waitForSelector(selector: string): Promise<unknown>;
  innerText(selector: string): Promise<string>;
  isDisabled(selector: string): Promise<boolean>;
  evaluate<T>(script: string): Promise<T>;
  screenshot(options: { readonly path: string; readonly fullPage: boolean }): Promise<unknown>;
  setViewportSize(size: { readonly width: number; readonly height: number }): Promise<void>;
  emulateMedia(media: { readonly colorScheme: 'light' | 'dark' }): Promise<void>;
  close(): Promise<void>;
}

export interface Browser {
  newPage(): Promise<Page>;
  close(): Promise<void>;
}

interface Driver {
  readonly chromium: {
    launch(options: { readonly executablePath: string; readonly args: readonly string[] }): Promise<Browser>;
  };
}

export const noBrowser = CHROMIUM === undefined ? 'there is no Chromium on this machine' : false;

export function startBrowser(): Promise<Browser> {
  const { chromium } = createRequire(import.meta.url)('playwright-core') as Driver;
  // Its sandbox does not work for root, and the pages are ours.
  return chromium.launch({ executablePath: CHROMIUM!, args: ['--no-sandbox'] });
}

export interface WatchedPage {
  readonly page: Page;
  readonly requested: readonly string[];
  readonly complaints: readonly string[];
  /** It asked nobody but the service, and nothing was complained of but what is expected. */
  readonly assertQuiet: (expected?: RegExp) => void;
}

/** A page that tells what it asks for and what the browser complains about. */
export async function watchedPage(browser: Browser, origin: string): Promise<WatchedPage> {
  const page = await browser.newPage();
  const [requested, complaints]: [string[], string[]] = [[], []];
  page.on('request', (request) => requested.push(request.url()));
  page.on('pageerror', (error) => complaints.push(String(error)));
  // What breaks the policy of the page is such an error, too.
  page.on('console', (message) => void (message.type() === 'error' && complaints.push(message.text())));
  const assertQuiet = (expected?: RegExp) => {
    const foreign = requested.filter((url) => !url.startsWith(`${origin}/`) && !url.startsWith('data:'));
    const others = complaints.filter((each) => expected?.test(each) !== true);
    assert.deepEqual({ foreign, complaints: others }, { foreign: [], complaints: [] });
  };
  return { page, requested, complaints, assertQuiet };
}
