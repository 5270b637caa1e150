// The real command between a host that speaks MCP over standard input and output and a real service.

import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { start } from '../testing/command.ts';
import { emptyPlace } from '../testing/place.ts';
import { ADMIN_KEY, startLog, TENANT } from '../testing/running-log.ts';

const place = emptyPlace();
const log = await startLog({ ...place });
after(async () => {
  await log[Symbol.asyncDispose]();
  place[Symbol.dispose]();
});

const REVISION = '2026-07-28';
const META = {
  'io.modelcontextprotocol/protocolVersion': REVISION,
  'io.modelcontextprotocol/clientInfo': { name: 'a host', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
};
const ENV = { TALLYSTICK_URL: log.url, TALLYSTICK_API_KEY: ADMIN_KEY, TALLYSTICK_TENANT: TENANT };

interface Answer {
  readonly id: unknown;
  readonly result?: Record<string, unknown>;
  readonly error?: { readonly code: number; readonly message: string };
}

/** All lines at once, and then the end of input. */
async function say(lines: readonly (object | string)[], env: Record<string, string> = ENV) {
  await using host = start(['mcp'], { env });
  host.child.stdin!.end(
    lines.map((line) => `${typeof line === 'string' ? line : JSON.stringify(line)}\n`).join(''),
  );
  const { code, stdout, stderr } = await host.ended;
  const answers = stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Answer);
  return { code, stderr, answers: answers.toSorted((a, b) => Number(a.id) - Number(b.id)) };
}

const message = (id: number, method: string, params: object = {}) => ({ jsonrpc: '2.0', id, method, params });

describe('tallystick mcp', () => {
  it('passes messages of both kinds of revisions on, and answers each, a line a message', async () => {
    const asked = { name: 'streams_list', arguments: {} };
    const { code, stderr, answers } = await say([
      message(1, 'initialize', {
        protocolVersion: '2025-11-25',
        capabilities: {},
        clientInfo: { name: 'a host', version: '1' },
      }),
      { jsonrpc: '2.0', method: 'notifications/initialized' },
      message(2, 'tools/call', asked),
      message(3, 'server/discover', { _meta: META }),
      message(4, 'tools/call', { ...asked, _meta: META }),
      message(5, 'resources/read', { uri: 'tallystick://nowhere/é', _meta: META }),
      'no JSON',
    ]);
    assert.deepEqual([code, stderr], [0, '']);
    assert.deepEqual(
      answers.map(({ id, error }) => [id, error?.code]),
      [
        [null, -32_700],
        [1, undefined],
        [2, undefined],
        [3, undefined],
        [4, undefined],
        [5, -32_602],
      ],
    );
    const [, initialized, listed, , again] = answers.map(({ result }) => result);
    assert.equal(initialized!['protocolVersion'], '2025-11-25');
    assert.deepEqual(again!['structuredContent'], listed!['structuredContent']);
  });

  it('answers what fails on the way, and ends where the caller is not known', async () => {
    const away = await say([message(1, 'ping')], { ...ENV, TALLYSTICK_URL: 'http://127.0.0.1:9' });
    assert.deepEqual([away.code, away.answers[0]!.error!.code], [0, -31_001]);
    assert.match(away.stderr, /no answer from http:\/\/127\.0\.0\.1:9\/mcp/);
    const unknown = await say([message(7, 'ping')], { ...ENV, TALLYSTICK_API_KEY: 'nobody' });
    assert.deepEqual([unknown.code, unknown.answers[0]!.id], [1, 7]);
    assert.match(unknown.answers[0]!.error!.message, /^UNAUTHENTICATED/);
    assert.match(unknown.stderr, /the service does not know the caller: .*\n$/);
  });
});
