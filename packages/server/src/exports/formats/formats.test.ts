// The formats of exports, read back by hand, with hostile names and cells.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AuditEvent, ExportFormat } from '@tallystick/contract';
import { columnName, type ContentPath } from '@tallystick/evidence';
import { asWritten } from '../../written-json.ts';
import { formatPath } from '../../query/field-path.ts';
import { formatOf, FORMATS } from './format.ts';

const EVENT: AuditEvent = {
  eventId: '01KE0000000000000000000001',
  tenantId: 'acme',
  kind: 'Event',
  sequence: 7,
  timestamp: '2026-01-01T00:00:00Z',
  receivedAt: '2026-01-01T00:00:01.000Z',
  correlationId: '2f1b3c4d-0000-4000-8000-000000000001',
  actor: { actorType: 'User', userId: 'u-1' },
  action: 'Delete.Invoice',
  resource: { resourceType: 'Invoice', resourceId: 'I-1' },
  classification: 'Internal',
  outcome: 'Success',
  submittedBy: 'key:1',
  payload: { amount: 1.5 },
  integrity: {
    streamId: '01KE0000000000000000000002',
    leafIndex: 6,
    leafHash: 'ab'.repeat(32),
    previousHash: 'cd'.repeat(32),
    status: 'Checkpointed',
  },
};

const HOSTILE = [
  '=SUM(A1)',
  '+1',
  '-1',
  '@cmd',
  '\tx',
  '\rx',
  "'quoted",
  "''",
  'a,b',
  '"',
  'line\r\nline',
  '<&>]]>',
  'ctrl\u0001\u0000',
  '\ufffe',
  'ünï 🎉',
  '',
  ' lead',
];

const fileOf = (format: ExportFormat, events: readonly AuditEvent[]): string => {
  const { begin, between, end, write } = FORMATS[format];
  return begin + events.map(write).join(between) + end;
};

const named = (name: string): AuditEvent => ({
  ...EVENT,
  resource: { ...EVENT.resource, resourceName: name },
  payload: { [`k${name}`]: name },
});

/** RFC 4180. */
function rowsIn(text: string): string[][] {
  const rows: string[][] = [[]];
  const cell = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n|$)/gy;
  for (let at = 0; at < text.length; at = cell.lastIndex) {
    cell.lastIndex = at;
    const [, quoted, plain, end] = cell.exec(text) ?? assert.fail(`no cell at ${at}`);
    rows.at(-1)!.push(quoted?.replaceAll('""', '"') ?? plain!);
    if (end === '\r\n') rows.push([]);
  }
  assert.deepEqual(rows.pop(), [], 'the last row ends like the others');
  return rows;
}

test('no events are a sound file in every format', () => {
  assert.deepEqual(JSON.parse(fileOf('JSON', [])), []);
  assert.equal(fileOf('NDJSON', []), '');
  assert.equal(rowsIn(fileOf('CSV', [])).length, 1);
  assert.match(fileOf('XML', []), /^<\?xml [^>]*\?>\n<events>\n<\/events>\n$/);
});

test('JSON and its lines are the events', () => {
  const events = HOSTILE.map(named);
  assert.deepEqual(JSON.parse(fileOf('JSON', events)), events);
  const lines = fileOf('NDJSON', events).split('\n');
  assert.equal(lines.pop(), '');
  assert.deepEqual(
    lines.map((line) => JSON.parse(line) as unknown),
    events,
  );
});

test('every cell of CSV can be read back, and none begins like a formula', () => {
  const [header, ...rows] = rowsIn(fileOf('CSV', HOSTILE.map(named)));
  for (const [i, row] of rows.entries()) {
    assert.equal(row.length, header!.length);
    const cells = Object.fromEntries(header!.map((path, column) => [path, row[column]!]));
    for (const shown of row) assert.doesNotMatch(shown, /^[=+\-@\t\r]/);
    const back = (path: string) => cells[path]!.replace(/^'/, '');
    assert.equal(back('resource.resourceName'), HOSTILE[i]);
    assert.deepEqual(JSON.parse(back('payload')), named(HOSTILE[i]!).payload);
    assert.equal(cells['actor.serviceId'], '');
    assert.equal(cells['sequence'], '7');
  }
});

test('values of context and payload get a column each, whose cells follow the same rule', () => {
  const paths: ContentPath[] = [
    ['payload', 'amount'],
    ['payload', 'lines', 0, 'sku'],
    ['payload', 'lines'],
    ['payload', '=a, "b"'],
    ['context', 'ip.v4'],
    ['payload', 'lines', 'length'],
    ['payload', '__proto__'],
  ];
  const { begin, write, columns } = formatOf('CSV', paths);
  const content = {
    context: asWritten('{"ip.v4":"@10.0.0.1"}'),
    payload: asWritten('{"=a, \\"b\\"":"=1","amount":-5,"lines":[{"sku":"A-1"}]}'),
  };
  const [header, row, without] = rowsIn(
    begin + write({ ...EVENT, ...content }) + write({ ...EVENT, payload: {} }),
  );
  const names = ['payload.amount', 'payload.lines[0].sku', 'payload.lines', 'payload."=a, \\"b\\""'];
  assert.deepEqual(header!.slice(-7, -3), names);
  assert.deepEqual(columns, header);
  const cells = ["'-5", 'A-1', '[{"sku":"A-1"}]', "'=1", "'@10.0.0.1", '', ''];
  assert.deepEqual(row!.slice(-7), cells);
  assert.deepEqual(without!.slice(-7), ['', '', '', '', '', '', '']);
  assert.deepEqual(header!.slice(0, -7), rowsIn(FORMATS.CSV.begin)[0], 'the others are as ever');
  for (const path of paths) assert.equal(columnName(path), formatPath(path));
});

test('every text of XML can be read back, and no character in it is forbidden', () => {
  const text = fileOf('XML', HOSTILE.map(named));
  // oxlint-disable-next-line no-control-regex
  assert.doesNotMatch(text, /[\u0000-\u0008\u000b\u000c\r\u000e-\u001f\ufffe\uffff]/);
  const found = [...text.matchAll(/<resourceName( encoding="base64")?>([^<]*)<\/resourceName>/g)];
  const REFERENCES = { '&amp;': '&', '&lt;': '<', '&gt;': '>', '&#13;': '\r' } as Record<string, string>;
  const read = found.map(([, isEncoded, written]) =>
    isEncoded === undefined
      ? written!.replace(/&[^;]+;/g, (each) => REFERENCES[each]!)
      : Buffer.from(written!, 'base64').toString(),
  );
  assert.deepEqual(read, HOSTILE);
});

test('withheld fields stand in every format', () => {
  const fields = ['payload', 'context'];
  const event: AuditEvent = { ...EVENT, redaction: { fields, reason: 'ClassificationAboveClearance' } };
  const [header, row] = rowsIn(fileOf('CSV', [event]));
  assert.equal(row![header!.indexOf('redaction.fields')], '["payload","context"]');
  assert.match(
    fileOf('XML', [event]),
    /<fields><field>payload<\/field><field>context<\/field><\/fields><reason>Classif/,
  );
});
