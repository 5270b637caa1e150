// Every bad request of the tables beside this file, sent to the real service: each gets its status and code, none a
// 500 or a status outside the closed list, and nothing of it is stored.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { request } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { BATCH_CASES } from './bad-input/batches.ts';
import { type BadRequest, GOOD, SINGLE } from './bad-input/case.ts';
import { credentialCases, type Issued } from './bad-input/credentials.ts';
import { FIELD_CASES } from './bad-input/fields.ts';
import { JSON_CASES } from './bad-input/json.ts';
import { REQUEST_CASES, WIRE_CASES } from './bad-input/requests.ts';
import { readLog } from './faults/read-log.ts';
import { KEY, type Service, startService, temporaryFolder } from './faults/running.ts';

const CASES_MIN = 150;
const COMMAND = join(import.meta.dirname, '../packages/cli/bin/tallystick.js');

interface Answer {
  readonly status: number;
  readonly text: string;
  readonly headers: Readonly<Record<string, unknown>>;
}

const folder = temporaryFolder();
const dataDirectory = join(folder.path, 'data');
let service: Service;

before(async () => {
  service = await startService({ dataDirectory });
});
after(async () => {
  await service[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});

/** What the command prints. */
async function command(...args: string[]): Promise<string> {
  const env = { ...process.env, Storage__DataDirectory: dataDirectory };
  const run = promisify(execFile);
  const { stdout } = await run(process.execPath, ['--conditions=source', COMMAND, ...args], { env });
  return stdout.trim();
}

describe('bad input', () => {
  it(`is at least ${CASES_MIN} requests`, () => {
    const count = [REQUEST_CASES, WIRE_CASES, JSON_CASES, FIELD_CASES, BATCH_CASES].flat().length;
    assert.ok(count >= CASES_MIN, `only ${count}`);
  });

  for (const bad of [...REQUEST_CASES, ...JSON_CASES, ...FIELD_CASES, ...BATCH_CASES]) {
    it(bad.name, async () => check(await send(bad), bad));
  }
  for (const bad of WIRE_CASES) {
    it(`on the wire: ${bad.name}`, async () => check(await sendRaw(String(bad.raw)), bad));
  }
  it('credentials', async (t) => {
    for (const bad of credentialCases(await issue())) {
      await t.test(bad.name, async () => check(await send(bad), bad));
    }
  });

  it('5 minutes ahead is the limit, to the millisecond', async () => {
    const at = async (aheadMs: number) => {
      const timestamp = new Date(Date.now() + aheadMs).toISOString();
      return (
        await send({
          name: '',
          body: { ...GOOD, timestamp },
          headers: { 'X-Tenant-Id': 'ahead' },
          status: 0,
          code: '',
        })
      ).status;
    };
    // The service looks at its clock a little later than we do.
    assert.equal(await at(5 * 60_000), 201);
    assert.equal(await at(5 * 60_000 + 2000), 422);
  });

  it('nothing of all this was stored', () => {
    const log = readLog(dataDirectory);
    const events = [...log]
      .flatMap(([tenant, found]) => (tenant === 'ahead' ? [] : found))
      .filter(({ kind }) => kind === 1);
    assert.deepEqual(events, []);
  });
});

/** Keys and tokens of the real command, one of each kind that the table wants to bend. */
async function issue(): Promise<Issued> {
  const key = (tenant: string, ...args: string[]) =>
    command('keys', 'create', '--tenant', tenant, '--name', 'test', ...args);
  const token = (tenant: string, ...args: string[]) =>
    command('token', '--tenant', tenant, '--expires-in', '1h', ...args);
  const good = await token('acme', '--role', 'Operator');
  const revokedKey = await key('acme', '--role', 'Admin');
  await command('keys', 'revoke', revokedKey.split('_')[1]!);
  const expiredKey = await key('acme', '--role', 'Admin', '--expires-in', '1s');
  const issued = {
    token: good,
    tokenKeyPem: readFileSync(join(dataDirectory, 'token-key.pem'), 'utf8'),
    tokenOfGlobex: await token('globex', '--role', 'Operator'),
    readOnlyToken: await token('acme', '--scope', 'audit:read'),
    viewerToken: await token('acme', '--role', 'Viewer'),
    keyOfGlobex: await key('globex', '--role', 'Admin'),
    viewerKey: await key('acme', '--role', 'Viewer'),
    readScopeKey: await key('acme', '--scope', 'audit:read'),
    adminKeyOfAcme: await key('acme', '--role', 'Admin'),
    revokedKey,
    expiredKey,
  };
  await new Promise((resolve) => setTimeout(resolve, 1000));
  return issued;
}

function check(answer: Answer, { status, code, field }: BadRequest): void {
  assert.equal(answer.status, status, answer.text);
  const { error } = JSON.parse(answer.text) as {
    error: {
      code: string;
      message: string;
      details: { field: string }[];
      traceId: string;
      requestId: string;
      timestamp: string;
      path: string;
    };
  };
  assert.equal(error.code, code, answer.text);
  assert.ok(error.message.length > 0 && error.traceId.length === 32 && error.requestId.length === 26);
  assert.ok(!error.path.includes('?') && !Number.isNaN(Date.parse(error.timestamp)));
  if (field !== undefined)
    assert.ok(
      error.details.some((detail) => detail.field === field),
      answer.text,
    );
  if (status === 401) assert.equal(answer.headers['www-authenticate'], 'Bearer');
  assert.doesNotMatch(answer.text, /node_modules|\.ts\b|SELECT|at Object\./);
}

function send({ method = 'POST', path = SINGLE, headers = {}, body }: BadRequest): Promise<Answer> {
  const bytes =
    body === undefined
      ? undefined
      : typeof body === 'string' || Buffer.isBuffer(body)
        ? Buffer.from(body)
        : Buffer.from(JSON.stringify(body));
  const all: Record<string, string | undefined> = {
    'X-API-Key': KEY,
    'X-Tenant-Id': 'acme',
    ...(bytes && { 'Content-Type': 'application/json' }),
    ...headers,
  };
  const sent = Object.fromEntries(
    Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
  return new Promise((resolve, reject) => {
    const asked = request(
      `${service.url}${path}`,
      { method, headers: { ...sent, ...(bytes && { 'Content-Length': bytes.length }) } },
      (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('end', () =>
          resolve({
            status: response.statusCode ?? 0,
            text: Buffer.concat(chunks).toString(),
            headers: response.headers,
          }),
        );
      },
    );
    asked.on('error', reject);
    asked.end(bytes);
  });
}

function sendRaw(raw: string): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const socket = connect(service.port, '127.0.0.1');
    let received = '';
    socket.on('data', (chunk) => (received += String(chunk)));
    socket.on('error', reject);
    socket.on('close', () => {
      const [head = '', text = ''] = received.split('\r\n\r\n', 2);
      const lines = head
        .split('\r\n')
        .slice(1)
        .map((line) => line.split(': ') as [string, string]);
      const headers = Object.fromEntries(lines.map(([name, value]) => [name.toLowerCase(), value]));
      resolve({ status: Number(head.slice(9, 12)), text, headers });
    });
    socket.end(raw.replaceAll('{key}', KEY));
  });
}
