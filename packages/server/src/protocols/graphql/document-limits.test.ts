// What a document may ask for: each limit at its number and one past it; and documents that are made to keep a server busy.

import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { getIntrospectionQuery } from 'graphql';
import { AuditError, LIMITS, OPERATIONS } from '@tallystick/contract';
import type { Operations } from '../../operations.ts';
import { processorMs } from '../../testing/processor-time.ts';
import { Documents } from './documents.ts';
import { loadSchema } from './schema.ts';

let documents: Documents;
before(async () => {
  const never = () => Promise.reject(new Error('never asked'));
  const operations = Object.fromEntries(OPERATIONS.map(({ name }) => [name, never])) as object as Operations;
  documents = new Documents(await loadSchema('v2', operations), true);
});

/** `sound`, the message of the limit, or that of the first error. */
function verdict(query: string, variables: Record<string, unknown> = {}): string {
  try {
    const read = documents.read({ query, operationName: undefined, variables });
    return 'document' in read ? 'sound' : read[0]!.message;
  } catch (error) {
    if (!(error instanceof AuditError)) throw error;
    assert.equal(error.code, 'REQUEST_TOO_LARGE');
    return error.message;
  }
}

const times = (count: number, text: (i: number) => string): string =>
  Array.from({ length: count }, (_, i) => text(i)).join(' ');
const {
  graphqlAliasesMax: aliases,
  graphqlFieldsMax: roots,
  graphqlMutationsMax: mutations,
  graphqlFragmentsMax: fragments,
  graphqlCostMax: cost,
} = LIMITS;

test('each limit holds at its number, and not past it', () => {
  const rows: [what: RegExp, max: number, query: (count: number) => string][] = [
    [/root fields 21; the limit is 20/, roots, (n) => `{ ${times(n, () => '__typename')} }`],
    [/root fields 11; the limit is 10/, mutations, (n) => `mutation { ${times(n, () => '__typename')} }`],
    [/aliases 31; the limit is 30/, aliases, (n) => `{ health { ${times(n, (i) => `a${i}: status`)} } }`],
    [
      /fragments 51; the limit is 50/,
      fragments,
      (n) =>
        `{ health { ${times(n, (i) => `...f${i}`)} } } ${times(n, (i) => `fragment f${i} on HealthReport { status }`)}`,
    ],
    [
      /cost \d+; the limit is 50000/,
      cost / 1000 - 1,
      (n) => `{ events(first: 1000) { nodes { ${times(n, () => 'eventId')} } } }`,
    ],
  ];
  for (const [what, max, query] of rows) {
    assert.equal(verdict(query(max)), 'sound', String(what));
    assert.match(verdict(query(max + 1)), what);
  }
});

test('the size of a page counts, also in a variable, and that of a search', () => {
  const list = (first: string) =>
    `query ($n: Int) { events(${first}) { nodes { ${times(60, () => 'eventId')} } } }`;
  assert.equal(verdict(list('first: 500')), 'Variable "$n" is never used.');
  assert.equal(verdict(list('first: $n'), { n: 500 }), 'sound');
  assert.match(verdict(list('first: $n'), { n: 1000 }), /cost 60002/);
  assert.match(verdict(list('first: $n'), { n: 1e9 }), /cost 60002/, 'a page has 1,000 at most');
  const search = (paging: string) =>
    `query ($s: SearchRequestInput, $n: Int) { searchEvents(search: ${paging}) { results { event { ${times(60, () => 'eventId')} } } } }`;
  assert.match(verdict(search('$s'), { s: { pagination: { limit: 1000 } } }), /cost 61002/);
  assert.match(verdict(search('{ pagination: { limit: $n } }'), { n: 1000 }), /cost 61002/);
  assert.match(verdict(search('{ pagination: { limit: 1000 } }')), /cost 61002/);
});

test('a link costs as much as the operation that it is', () => {
  const query = (first: number) =>
    `{ violations(first: ${first}) { nodes { policy { name } event { __typename } } } }`;
  assert.equal(verdict(query(1000)), 'sound');
  const more =
    '{ violations(first: 1000) { nodes { a: policy { name } b: policy { name } c: policy { name } } } }';
  assert.match(verdict(more), /cost 63002/);
});

test('documents that are made to keep a server busy are refused at little cost', async () => {
  const rows: [name: string, query: string, expected: RegExp][] = [
    ['comments', `${'#x\n'.repeat(300_000)}{ __typename }`, /^sound$/],
    ['open braces', '{a'.repeat(300_000), /nested too deep|too many tokens|exceeds/i],
    ['nested fields', '{a'.repeat(4900) + '}'.repeat(4900), /nested too deep|inside one another/],
    ['nested lists', `{events(kind:${'['.repeat(14_000)}){__typename}}`, /nested too deep/],
    ['inline fragments', `{${'...{__typename}'.repeat(3000)}}`, /root fields 3000/],
    [
      'a fragment bomb',
      `${times(30, (i) => `fragment f${i} on Query{...f${i + 1} ...f${i + 1}}`)} fragment f30 on Query{__typename} {...f0}`,
      /root fields 1073741824/,
    ],
    [
      'a bomb below',
      `${times(40, (i) => `fragment f${i} on AuditEvent{...f${i + 1} ...f${i + 1}}`)} fragment f40 on AuditEvent{eventId} {events{nodes{...f0}}}`,
      /cost \d+/,
    ],
    ['a cycle', 'fragment a on Query{...b} fragment b on Query{...a} {...a}', /within itself/],
    ['many operations', times(3000, (i) => `query q${i}{__typename}`), /several operations/],
    ['a long word', `{events(kind:${'x'.repeat(900_000)}){__typename}}`, /does not exist in "EventKind"/],
    ['unknown fields', `{events{nodes{${times(7000, (i) => `eventI${i}`)}}}}`, /cost/],
    ['unknown arguments', `{events(${times(4000, (i) => `x${i}:1`)}){totalCount}}`, /Unknown argument/],
    [
      'unknown members',
      `{searchEvents(search:{${times(4500, (i) => `x${i}:1`)}}){totalCount}}`,
      /not defined/,
    ],
    ['unused variables', `query(${times(3500, (i) => `$v${i}:Int`)}){__typename}`, /never used/],
    [
      'the same field',
      `{events(first:10){nodes{${times(450, () => 'actor{userId}')}}}}`,
      /repeated fields 449/,
    ],
    ['too many tokens', `{health{${times(15_000, () => 'status')}}}`, /15000/],
    [
      'deep introspection',
      '{__schema{types{fields{type{fields{type{fields{name}}}}}}}}',
      /introspection|Introspection/,
    ],
    ['what tools ask', getIntrospectionQuery(), /^sound$/],
  ];
  for (const [name, query, expected] of rows) {
    let told = '';
    const spent = await processorMs(() => {
      told = verdict(query);
    });
    assert.match(told, expected, name);
    // Many times what it takes: what grows with the square of its size takes longer.
    assert.ok(spent < 1500, `${name}: ${spent} ms`);
  }
});
