// The committed reference says what the settings say. UPDATE_REFERENCE=1 writes the page instead.

import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { loadConfig } from './config.ts';
import { renderReference } from './reference.ts';

const page = new URL('../../../../docs/reference/configuration.md', import.meta.url);

test('docs/reference/configuration.md is what the settings say (UPDATE_REFERENCE=1 writes it)', () => {
  if (process.env['UPDATE_REFERENCE'] === '1') writeFileSync(page, renderReference());
  assert.equal(readFileSync(page, 'utf8'), renderReference());
});

test('every setting is in the reference', () => {
  const variables = {
    Authentication__Issuers__0__Issuer: 'https://a.example',
    Authentication__Issuers__0__Audience: 'a',
  };
  const { settings } = loadConfig({ variables, workingDirectory: import.meta.dirname });
  const rendered = renderReference();
  for (const { name } of settings) assert.ok(rendered.includes(`\n| \`${name}\``), name);
});
