// Bad requests made by rule from the OpenAPI documents, sent to the real service: of each operation every part, wrong in every
// way that the document excludes. Each is refused as the contract says, none shows a secret, and afterwards the service
// is what it was before.

import assert from 'node:assert/strict';
import { Agent, request } from 'node:http';
import { after, before, describe, it } from 'node:test';
import {
  type ErrorBody,
  type HealthReport,
  type List,
  OPERATIONS,
  openApiOf,
  type Version,
} from '@tallystick/contract';
import { casesOf, type Document, type GeneratedRequest } from './bad-input/from-openapi.ts';
import { GOOD } from './bad-input/case.ts';
import { CANARY } from './bad-input/wrong-values.ts';
import { type Backend, BACKENDS } from './faults/backends.ts';
import { KEY, type Service, startService } from './faults/running.ts';
import { SIZE } from './faults/size.ts';
import { processorMs } from './faults/usage.ts';

const CASES_MIN = 600;
/** In the short form one request in so many is sent. */
const STRIDE = SIZE.isLong ? 1 : 8;
/** So many at a time. */
const CONNECTIONS = 8;

/** Sound events, to compare with what it costs to refuse. */
const SOUND = 300;
/** A third of the bodies are large, and the events small. */
const COST_RATIO_MAX = 4;
const EMPTY_LISTS = [
  '/audit-events?kind=Event,Notice',
  '/policies',
  '/legal-holds',
  '/exports',
  '/export-schedules',
  '/webhooks/subscriptions',
  '/admin/api-keys',
  '/admin/tenants',
  '/admin/dead-letter-queue',
];
const GOOD_REQUEST = {
  operationId: 'eventsIngest',
  name: 'a sound event',
  method: 'POST',
  body: GOOD,
  expected: /^201$/,
};

interface Answer {
  readonly code: string;
  readonly text: string;
  readonly body: Partial<ErrorBody> & {
    readonly valid?: boolean;
    readonly errors?: readonly { readonly field: string }[];
  };
}

const documentOf = (version: Version) =>
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- of an OpenAPI document, what is read here
  openApiOf(version, {
    operations: new Set(OPERATIONS.map(({ name }) => name)),
    build: 'test',
  }) as unknown as Document;

const RUNS: readonly (readonly [Version, keyof typeof BACKENDS])[] = [
  ['v1', 'SQLite'],
  ['v2', 'PostgreSQL'],
];

for (const [place, [version, name]] of RUNS.entries()) {
  describe(`bad requests made from the document of ${version}, on ${name}`, () => {
    const operations = casesOf(documentOf(version));
    const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
    let backend: Backend;
    let service: Service;
    before(async () => {
      backend = await BACKENDS[name]();
      service = await startService(backend.start);
    });
    after(async () => {
      agent.destroy();
      await service?.[Symbol.asyncDispose]();
      await backend?.[Symbol.asyncDispose]();
    });
    let sent = 0;
    let refusedMs = 0;

    for (const [row, each] of operations.entries()) {
      // Rules come in the same order for each operation, so that another part of them falls to each.
      it(each.name, async () => {
        const chosen = each.cases.filter((_, i) => (i + row + place) % STRIDE === 0);
        const faults: string[] = [];
        const beganMs = processorMs(service);
        await inTurns(chosen, async (bad) => {
          const fault = faultOf(bad, await send(service, bad, agent));
          if (fault !== undefined) faults.push(`${bad.name}: ${fault}`);
        });
        refusedMs += processorMs(service) - beganMs;
        sent += chosen.length;
        assert.deepEqual(faults, []);
      });
    }

    it('nothing of all this was stored, and the service is as it was before', async (t) => {
      assert.ok(sent >= CASES_MIN, `only ${sent} requests`);
      const log = await backend.readLog();
      // That of the installation knows the first key.
      assert.deepEqual(
        [...log].map(([tenant, entries]) => [tenant, entries.length]),
        [['*', 1]],
      );
      for (const path of EMPTY_LISTS)
        assert.equal((await getJson<List<unknown>>(service, `/api/${version}${path}`)).data.length, 0, path);
      const health = await getJson<HealthReport>(service, `/api/${version}/health`);
      assert.equal(health.status, 'Healthy', JSON.stringify(health));
      assert.doesNotMatch(service.diagnostics(), /"level":"(?:error|fatal)"|unhandled/i);
      assert.ok(!service.diagnostics().includes(CANARY), 'the diagnostics show a secret');
      // What each costs is measured by the processor's time, for other tests run beside this one.
      const beganMs = processorMs(service);
      const sound: GeneratedRequest = { ...GOOD_REQUEST, path: `/api/${version}/audit-events` };
      await inTurns(
        Array.from({ length: SOUND }, () => sound),
        async (good) => {
          assert.equal((await send(service, good, agent)).code, '201');
        },
      );
      const [perSound, perRefused] = [(processorMs(service) - beganMs) / SOUND, refusedMs / sent];
      t.diagnostic(
        `${sent} refused, each ${perRefused.toFixed(2)} ms of processor time; a sound event ${perSound.toFixed(2)} ms`,
      );
      assert.ok(perRefused < COST_RATIO_MAX * perSound, `${perRefused} ms to refuse, ${perSound} ms to take`);
    });
  });
}

async function getJson<T>(service: Service, path: string): Promise<T> {
  const response = await fetch(`${service.url}${path}`, {
    headers: { 'X-API-Key': KEY, 'X-Tenant-Id': 'acme' },
  });
  return (await response.json()) as T;
}

/** So many at a time, in their order. */
async function inTurns<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const left = items.values();
  const take = async () => {
    for (const item of left) await work(item);
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, take));
}

function faultOf(
  { expected, field, isSecret }: GeneratedRequest,
  { code, text, body }: Answer,
): string | undefined {
  if (!expected.test(code)) return `${code} ${text.slice(0, 300)}`;
  if (text.includes(KEY) || (isSecret === true && text.includes(CANARY))) return `it shows a secret: ${text}`;
  if (/node_modules|\.ts\b|SELECT|at Object\./.test(text)) return `it shows how it is made: ${text}`;
  const named = (body.errors ?? body.error?.details ?? []).map((detail) => detail.field);
  if (field !== undefined && !named.some((each) => each.startsWith(field) || field.startsWith(`${each}.`)))
    return `does not name ${field}: ${named.slice(0, 20).join(' ')}`;
  // That a policy is wrong is an answer where it is asked.
  if (code === '200') return body.valid === false ? undefined : `is taken: ${text}`;
  const { error } = body;
  if (error === undefined) return `not the form of an error: ${text}`;
  if (
    error.message === '' ||
    error.traceId.length !== 32 ||
    error.requestId.length !== 26 ||
    error.path.includes('?')
  )
    return `not the form of an error: ${text}`;
  return undefined;
}

function send(service: Service, bad: GeneratedRequest, agent: Agent): Promise<Answer> {
  const { method, path, headers, body } = bad;
  const bytes =
    body === undefined
      ? undefined
      : Buffer.isBuffer(body)
        ? body
        : Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
  const all: Record<string, string | number | undefined> = {
    ...(headers?.['Authorization'] === undefined && { 'X-API-Key': KEY }),
    'X-Tenant-Id': 'acme',
    ...(bytes && { 'Content-Type': 'application/json', 'Content-Length': bytes.length }),
    ...headers,
  };
  const given = Object.fromEntries(Object.entries(all).filter((entry) => entry[1] !== undefined));
  return new Promise((resolve, reject) => {
    const asked = request(`${service.url}${path}`, { method, headers: given, agent }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () => {
        const text = Buffer.concat(chunks).toString();
        const body = text.startsWith('{') ? (JSON.parse(text) as Answer['body']) : {};
        resolve({ code: `${response.statusCode} ${body.error?.code ?? ''}`.trim(), text, body });
      });
    });
    asked.on('error', (error) => reject(new Error(`${method} ${path}: ${bad.name}`, { cause: error })));
    asked.end(bytes);
  });
}
