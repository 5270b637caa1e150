import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AuditError } from '@tallystick/contract';
import { BodyBudget } from '../http/body-budget.ts';
import { parseBody } from '../input/parse-body.ts';
import { type Message, readMessage } from './message.ts';

const parts = {
  budget: new BodyBudget(10_000_000),
  parseElsewhere: (
    _: string,
    { bytes, rules, isKeyed }: { bytes: Uint8Array; rules: never; isKeyed: boolean },
  ) => Promise.resolve(parseBody(bytes, rules, isKeyed)),
} as Parameters<typeof readMessage>[2];

const read = (text: string): Promise<Message> => readMessage(Buffer.from(text), 'somebody', parts);
const call = (args: string): string =>
  `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":${args}}}`;
const keys = (count: number): string => `{${Array.from({ length: count }, (_, i) => `"k${i}":0`).join(',')}}`;

async function refusal(text: string): Promise<string> {
  try {
    const { args } = await read(text);
    args.parts('search');
  } catch (error) {
    return error instanceof AuditError ? `${error.code}: ${error.message}` : String(error);
  }
  return 'none';
}

test('what the SDK gets of a message is small, whatever stands in it', async () => {
  const meta = (more: string) =>
    `{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":${more},"more":${more}}`;
  const table: Readonly<Record<string, string>> = {
    arguments: call(keys(50_000)),
    'the members around it': `{"jsonrpc":"2.0","id":1,"method":"ping",${keys(50_000).slice(1)}`,
    parameters: `{"jsonrpc":"2.0","id":1,"method":"ping","params":${keys(50_000)}}`,
    _meta: `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":${meta(keys(20_000))}}}`,
    capabilities: `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"capabilities":${keys(50_000)}}}`,
    'a result': `{"jsonrpc":"2.0","id":1,"result":${keys(50_000)}}`,
  };
  for (const [what, text] of Object.entries(table)) {
    const { shown } = await read(text);
    assert.ok(JSON.stringify(shown).length < 500, what);
    assert.deepEqual([shown['jsonrpc'], shown['id']], ['2.0', 1], what);
  }
  const { shown } = await read(
    `{"jsonrpc":"2.0","id":"a","method":"m","params":{"_meta":${meta('{"x":1}')}}}`,
  );
  assert.deepEqual(shown['params'], {
    _meta: {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientCapabilities': {},
    },
  });
});

test('a member that is too long is refused by its name', async () => {
  const long = `"${'x'.repeat(5000)}"`;
  const table: Readonly<Record<string, RegExp>> = {
    [`{"id":${long}}`]: /^VALIDATION_FAILED: id is 5002 bytes as JSON; the limit is 4096/,
    [`{"method":${long}}`]: /^VALIDATION_FAILED: method is/,
    [`{"params":{"uri":${long}}}`]: /^VALIDATION_FAILED: uri is/,
    [call(keys(50_000))]:
      /^REQUEST_TOO_LARGE: The arguments without search are over the limit of 131072 bytes/,
    '[]': /^VALIDATION_FAILED: The body must be one/,
    '{"id":1,"id":2}': /^VALIDATION_FAILED: The message breaks rules of JSON/,
  };
  for (const [text, expected] of Object.entries(table)) assert.match(await refusal(text), expected);
});

test('arguments are taken apart: the body as text, the others as values, and what they break by its place', async () => {
  const { args } = await read(
    call('{"limit":5,"search":{"query":"a","query":"b"},"__proto__":{"x":1},"at":"\\ud800"}'),
  );
  const { members, body, violations } = args.parts('search');
  assert.deepEqual(Object.keys(members), ['__proto__', 'at', 'limit']);
  assert.equal(({} as { x?: number }).x, undefined);
  assert.match(Buffer.from(body!).toString(), /^\{"query":/);
  assert.deepEqual(violations.map(({ field }) => field).toSorted(), ['at', 'query']);
  for (const none of ['null', '[]', '1', '"x"'])
    assert.deepEqual((await read(call(none))).args.parts('search').members, {}, none);
});
