import assert from 'node:assert/strict';
import { test } from 'node:test';
import { headerFaults, splitHeaders } from './custom-headers.ts';

const issueOf = (name: string, value: unknown = 'x') => {
  const [fault, ...more] = headerFaults({ [name]: value });
  assert.deepEqual(more, []);
  return fault && `${fault.field} ${fault.issue}`;
};

test('any other header may be set', () => {
  for (const name of ['X-Team', 'Authorization', 'x-api-key', 'Accept', 'X-Auditor', 'Contents', '__proto__'])
    assert.equal(issueOf(name), undefined, name);
  for (const value of ['', 'a b\tc', 'Zürich', '~!"'])
    assert.equal(issueOf('X-Team', value), undefined, value);
});

test('what is hop by hop, or the delivery itself decides, is refused in any case', () => {
  const names = [
    'Host',
    'connection',
    'Keep-Alive',
    'TE',
    'Trailer',
    'Transfer-Encoding',
    'upgrade',
    'Expect',
  ];
  const prefixed = [
    'Content-Type',
    'content-length',
    'Proxy-Authorization',
    'X-Audit-Signature',
    'webhook-id',
  ];
  for (const name of [...names, ...prefixed, 'User-Agent'])
    assert.match(issueOf(name) ?? '', /belongs to the delivery itself and cannot be set$/, name);
});

test('a name that servers take for one of ours is refused: to CGI and its kin `_` and `-` are the same', () => {
  for (const name of ['X_Audit_Signature', 'x-audit_timestamp', 'Webhook_Id', 'Content_Length', 'USER_AGENT'])
    assert.match(issueOf(name) ?? '', /belongs to the delivery itself and cannot be set$/, name);
});

test('bytes that no header may hold are refused, in names and in values, and no value is shown', () => {
  for (const name of ['', 'X Team', 'X-Team:', 'X\r\nHost', 'Zürich', 'X\u0000'])
    assert.match(issueOf(name) ?? '', /is not a name that a header can have$/, JSON.stringify(name));
  for (const value of ['a\r\nHost: evil', 'a\n', '\u0000', '\u007f', '\u001b[0m', '€', '🗝'])
    assert.equal(issueOf('X-Team', value), 'headers["X-Team"] has a character that no header may hold');
  assert.ok(!JSON.stringify(headerFaults({ 'X-Team': 'hunter2\r\n' })).includes('hunter2'));
});

test('names differ by more than their case, and all together have a limit', () => {
  const [twice] = headerFaults({ 'X-Team': 'a', 'x-team': 'b' });
  assert.match(twice?.issue ?? '', /is there twice/);
  assert.match(issueOf('x'.repeat(129)) ?? '', /has a name of 129 characters; at most 128 are allowed/);
  const many = Object.fromEntries(Array.from({ length: 9 }, (_, i) => [`X-${i}`, 'x'.repeat(1000)]));
  assert.deepEqual(headerFaults(many), [
    { field: 'headers', issue: 'have 9027 characters together; at most 8192 are allowed' },
  ]);
});

test('what is no map of texts is left to the schema', () => {
  for (const headers of [undefined, null, 7, 'x', ['x'], { 'X-Team': 7 }])
    assert.deepEqual(headerFaults(headers), []);
});

test('credentials are told by their names, or by what they begin with', () => {
  const secret = {
    Authorization: 'a',
    'X-Api-Key': 'b',
    Cookie: 'c',
    'X-Auth-Token': 'd',
    'x-vendor-secret': 'e',
    'X-Other': 'Bearer f',
  };
  const plain = { 'X-Team': 'g', Accept: 'application/json', 'X-Author': 'ana' };
  const { shown, credentials, faults } = splitHeaders({ ...plain, ...secret }, {});
  assert.deepEqual(credentials, secret);
  assert.deepEqual(faults, []);
  const masked = Object.fromEntries(Object.keys(secret).map((name) => [name, '[REDACTED]']));
  assert.deepEqual(shown, { ...plain, ...masked });
});

test('a credential that is sent back as it was shown keeps its value, and there must be one', () => {
  const known = { Authorization: 'Bearer a', 'X-Other': 'Bearer b' };
  const sent = { authorization: '[REDACTED]', 'X-Other': '[REDACTED]', 'X-Team': '[REDACTED]' };
  const { credentials, faults } = splitHeaders(sent, known);
  assert.deepEqual(credentials, { authorization: 'Bearer a', 'X-Other': 'Bearer b' });
  assert.deepEqual(faults, [
    { field: 'headers["X-Team"]', issue: 'has no value that [REDACTED] could keep' },
  ]);
});

test('a header called __proto__ is a header like others', () => {
  const sent = JSON.parse('{"__proto__":"a","X-Team":"b"}') as Record<string, string>;
  const { shown } = splitHeaders(sent, {});
  assert.deepEqual(Object.entries(shown), Object.entries(sent));
});
