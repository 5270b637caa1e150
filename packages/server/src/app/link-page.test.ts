// The page that verifies exports: whole, the same each time, and allowed to do nothing but run its own script.

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { Script } from 'node:vm';
import { linkPage } from './link-page.ts';

test('the page is one file that is the same each time, and its script has no modules left', async () => {
  const html = await linkPage();
  assert.equal(await linkPage(), html);
  const [, script] = /<script type="module">([^]*)<\/script>/.exec(html)!;
  assert.doesNotThrow(() => new Script(script!), 'it is a script');
  assert.doesNotMatch(html, /\b(?:src|href)=|@import|url\(/);
});

test('its policy allows its script and its style, and no address', async () => {
  const html = await linkPage();
  const [, policy] = /http-equiv="Content-Security-Policy" content="([^"]*)"/.exec(html)!;
  const hash = (text: string) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
  const [, style] = /<style>([^]*)<\/style>/.exec(html)!;
  const [, script] = /<script type="module">([^]*)<\/script>/.exec(html)!;
  assert.deepEqual(policy!.split('; '), [
    "default-src 'none'",
    `script-src ${hash(script!)}`,
    `style-src ${hash(style!)}`,
    "base-uri 'none'",
    "form-action 'none'",
  ]);
});
