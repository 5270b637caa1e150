// The committed reference says what the contract says. UPDATE_REFERENCE=1 writes the pages instead.

import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { REFERENCE_PAGES } from './reference.ts';

const folder = new URL('../../../docs/reference/', import.meta.url);

for (const [file, render] of Object.entries(REFERENCE_PAGES)) {
  test(`docs/reference/${file} is what the contract says (UPDATE_REFERENCE=1 writes it)`, () => {
    const path = new URL(file, folder);
    if (process.env['UPDATE_REFERENCE'] === '1') {
      mkdirSync(folder, { recursive: true });
      writeFileSync(path, render());
    }
    assert.equal(readFileSync(path, 'utf8'), render());
  });
}

test('every link inside the reference leads to an anchor that exists', () => {
  const pages = new Map(Object.entries(REFERENCE_PAGES).map(([file, render]) => [file, render()]));
  const anchors = new Map([...pages].map(([file, text]) => [file, anchorsOf(text)]));
  for (const [file, text] of pages) {
    const links = [...text.matchAll(/\]\(([\w-]*\.md)?#([^)]+)\)/g)];
    assert.ok(file === 'errors.md' || file === 'limits.md' || links.length > 0, `${file} has links`);
    for (const [whole, target = file, anchor = ''] of links) {
      assert.ok(anchors.get(target)?.has(anchor), `${file}: ${whole}`);
    }
  }
});

function anchorsOf(text: string): Set<string> {
  const explicit = [...text.matchAll(/<a id="([^"]+)">/g)].map((match) => match[1] ?? '');
  const headings = [...text.matchAll(/^#+ (.+)$/gm)].map((match) => match[1] ?? '');
  const slug = (heading: string) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-');
  return new Set([...explicit, ...headings.map(slug)]);
}
