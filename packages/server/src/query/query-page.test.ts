// The examples of docs/reference/query.md, run: its event, its queries, its faults, its lists and limits.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import type { AuditEvent } from '@tallystick/contract';
import { EVENT_TOKENS_MAX, SAME_TOKENS_MAX } from './event-tokens.ts';
import { FIELD_NAMES, ruleOf } from './fields.ts';
import { foldText } from './fold.ts';
import { FRAGMENT_LENGTH, FRAGMENTS_MAX } from './fragments.ts';
import { HIGHLIGHTED_FIELDS_MAX } from './highlights.ts';
import { matches } from './matches.ts';
import { parseQuery, QUERY_DEPTH_MAX, QUERY_TERMS_MAX } from './query-parser.ts';
import { shownEvent } from './testing/shown-event.ts';
import { TOKEN_BYTES_MAX } from './tokens.ts';

const page = readFileSync(new URL('../../../../docs/reference/query.md', import.meta.url), 'utf8');
const event = shownEvent(JSON.parse(/```json\n(.*?)```/s.exec(page)![1]!) as Partial<AuditEvent>);

test('every example of the page finds its event, or does not, as the page says', () => {
  const rows = [...page.matchAll(/^\| `(.+?)` \| (yes|no) \|/gm)];
  assert.ok(rows.length > 50, `${rows.length} examples`);
  for (const [, written, found] of rows) {
    const { query, fault } = parseQuery(written!);
    assert.ok(query, `${written}: ${fault?.issue}`);
    assert.equal(matches(query, event), found === 'yes', written);
  }
});

test('every fault of the page is what is answered', () => {
  const rows = [...page.matchAll(/^\| `(.+?)` \| (column .+) \|$/gm)];
  assert.ok(rows.length > 5, `${rows.length} faults`);
  for (const [, written, issue] of rows) assert.equal(parseQuery(written!).fault?.issue, issue);
});

test('the page has every field, under the rule it follows', () => {
  const listed = (from: string, to: string) =>
    [
      ...page
        .split(from)[1]!
        .split(to)[0]!
        .matchAll(/`([\w.]+)`/g),
    ].map(([, name]) => name);
  const ruled = (members: string) =>
    FIELD_NAMES.filter(
      (name) =>
        Object.keys(ruleOf(name))
          .filter((key) => key !== 'choices')
          .join() === members,
    );
  assert.deepEqual(listed('These are compared as a whole:', 'These by words:'), ruled('whole'));
  assert.deepEqual(listed('These by words:', '`actor` and'), ruled('words'));
  assert.deepEqual(ruled('whole,words'), ['actor', 'resource']);
  assert.deepEqual(ruled('time'), ['timestamp', 'receivedAt']);
});

test('the page has the limits and letters of the code', () => {
  const unwrapped = page.replaceAll('\n', ' ');
  for (const passage of [
    `at most ${QUERY_TERMS_MAX} terms`,
    `at most ${QUERY_DEPTH_MAX} deep`,
    `first ${EVENT_TOKENS_MAX.toLocaleString('en-US')} words`,
    `and ${SAME_TOKENS_MAX} of the same word`,
    `first ${TOKEN_BYTES_MAX} bytes`,
    `at most ${HIGHLIGHTED_FIELDS_MAX} fields`,
    `at most ${FRAGMENTS_MAX} pieces of about ${FRAGMENT_LENGTH} characters`,
  ]) {
    assert.ok(unwrapped.includes(passage), passage);
  }
  const [, from, to] = /`(ß[^`]+)` are `([^`]+)`/.exec(page)!;
  assert.equal(foldText(from!), to);
});
