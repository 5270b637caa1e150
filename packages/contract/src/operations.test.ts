// Every operation is whole: it is bound to REST without remainder and can be carried by the other protocols.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ANSWER_FACTS } from './answer.ts';
import type { ByteAnswer } from './answer.ts';
import { ERRORS, PROTOCOL_ERRORS, ROUTING_ERRORS } from './errors.ts';
import type { Operation } from './operation.ts';
import { pascalName } from './operation.ts';
import {
  answersOf,
  errorsOf,
  gapsOf,
  isOffered,
  OPERATIONS,
  operationNamed,
  operationsIn,
  outputSchema,
  placeholders,
  placeOf,
  restBodySchema,
} from './operations.ts';
import type { Answer, InputOf, OutputOf } from './operations.ts';
import { PERMISSIONS } from './permissions.ts';
import { asJson } from './schema.ts';
import type { AuditEvent, EventDraft } from './schemas/event.ts';
import type { Page } from './schemas/list.ts';
import type { StreamId } from './schemas/primitives.ts';
import { everySchema, holdsGuarded } from './schema-walk.ts';
import { faultsOf } from './testing.ts';

const members = (each: Operation): string[] => Object.keys(each.input.properties);
const routeOf = ({ rest }: Operation): string => `${rest.method} ${rest.atRoot ? 'root' : ''}${rest.path}`;

test('names are unique, of the form noun.verb', () => {
  assert.equal(new Set(OPERATIONS.map(({ name }) => name)).size, OPERATIONS.length);
  for (const { name } of OPERATIONS) assert.match(name, /^[a-z][A-Za-z]*\.[a-z][A-Za-z]*$/);
  assert.equal(pascalName('events.ingestBatch'), 'EventsIngestBatch');
});

test('no two operations share a method and path, even if their placeholders have other names', () => {
  const routes = OPERATIONS.map((each) => routeOf(each).replaceAll(/\{\w+(\+?)\}/g, '{$1}'));
  assert.equal(new Set(routes).size, routes.length);
});

test('placeholders, headers and body of a binding are members of the input', () => {
  for (const each of OPERATIONS) {
    const bound = [...placeholders(each.rest.path), ...Object.keys(each.rest.headers ?? {})];
    if (each.rest.body !== undefined) bound.push(each.rest.body);
    for (const name of bound) assert.ok(members(each).includes(name), `${each.name}: ${name} is no member`);
    assert.equal(new Set(bound).size, bound.length, `${each.name}: a member travels twice`);
  }
});

test('what travels in a path is required and text', () => {
  for (const each of OPERATIONS) {
    for (const name of placeholders(each.rest.path)) {
      assert.ok(asJson(each.input).required?.includes(name), `${each.name}: ${name} is required`);
      const schema = asJson(each.input).properties?.[name];
      assert.equal(schema?.type, 'string', `${each.name}: ${name}`);
      assert.ok(
        schema?.['x-refused-as']?.endsWith('_NOT_FOUND'),
        `${each.name}: a malformed ${name} is not found`,
      );
    }
  }
});

test('only reads without a body have query parameters, and those are flat', () => {
  for (const each of OPERATIONS) {
    for (const name of members(each).filter((member) => placeOf(each, member) === 'Query')) {
      assert.equal(each.rest.method, 'GET', `${each.name}: ${name} is in the query of a ${each.rest.method}`);
      const schema = asJson(each.input).properties?.[name];
      const value = schema?.type === 'array' ? schema.items : schema;
      assert.ok(['string', 'integer', 'boolean'].includes(value?.type ?? ''), `${each.name}: ${name}`);
    }
  }
});

test('methods agree with effects: reading never needs PUT, PATCH or DELETE, and GET never writes', () => {
  for (const { name, effect, rest } of OPERATIONS) {
    if (rest.method === 'GET') assert.equal(effect, 'Read', name);
    if (effect === 'Read') assert.ok(['GET', 'POST'].includes(rest.method), name);
    if (rest.method === 'GET' || rest.method === 'DELETE') assert.equal(rest.body, undefined, name);
  }
});

test('every POST and PUT but search and validate honours an idempotency key, and nothing else does', () => {
  const unkeyed = ['events.search', 'policies.validate'];
  for (const { name, idempotency, rest } of OPERATIONS) {
    const isKeyed = ['POST', 'PUT'].includes(rest.method) && !unkeyed.includes(name);
    assert.equal(idempotency, isKeyed ? 'Key' : 'None', name);
  }
});

test('verifying a stream changes nothing and goes on after the answer, under the same permission', () => {
  const verify = operationNamed('streams.verify');
  const get = operationNamed('streams.getVerification');
  assert.deepEqual([verify.effect, verify.idempotency, verify.permission], ['Read', 'Key', get.permission]);
  assert.deepEqual(
    answersOf(verify).map(([kind]) => kind),
    ['Accepted', 'Repeated'],
  );
  assert.ok(!errorsOf(verify).includes('API_VERSION_SUNSET'), 'a sunset version still verifies');
});

test('a live probe can only succeed', () => {
  for (const name of ['health.live', 'process.live'] as const) {
    assert.deepEqual(Object.keys(operationNamed(name).answers), ['Done'], name);
  }
  assert.deepEqual(Object.keys(operationNamed('health.ready').answers), ['Done', 'Unavailable']);
});

test('permissions, errors and timeouts that an operation names exist', () => {
  for (const each of OPERATIONS) {
    if (each.permission !== null) assert.ok(each.permission in PERMISSIONS, each.name);
    for (const error of errorsOf(each)) assert.ok(error in ERRORS, `${each.name}: ${error}`);
    assert.equal(new Set(each.errors).size, each.errors.length, each.name);
  }
});

test('every error of the catalogue can be answered by some operation, or before one is found', () => {
  const answered = new Set([
    ...ROUTING_ERRORS,
    ...PROTOCOL_ERRORS,
    ...OPERATIONS.flatMap((each) => errorsOf(each)),
  ]);
  assert.deepEqual(
    Object.keys(ERRORS).filter((code) => !answered.has(code as never)),
    [],
  );
});

test('only what needs no tenant needs no credential', () => {
  for (const { name, permission, tenant } of OPERATIONS) {
    if (permission === null) assert.equal(tenant, 'None', name);
    if (tenant === 'None') assert.ok(permission === null || permission === 'audit.platform.manage', name);
  }
});

test('answer headers are filled from the body, the facts or the input', () => {
  for (const each of OPERATIONS) {
    const schema = outputSchema(each);
    const { properties = {}, anyOf = [] } = schema === undefined ? {} : asJson(schema);
    // A name without a value leaves its header out.
    const ofEither = anyOf.flatMap((one) => Object.keys(one.properties ?? {}));
    const known = [
      ...Object.keys(properties),
      ...ofEither,
      ...members(each),
      ...ANSWER_FACTS,
      ...(each.output.kind === 'Bytes' ? (['fileName'] satisfies (keyof ByteAnswer)[]) : []),
    ];
    for (const template of Object.values(each.rest.answerHeaders ?? {})) {
      for (const name of placeholders(template)) assert.ok(known.includes(name), `${each.name}: ${name}`);
    }
  }
});

test('answers that show a secret, a signed link or a value of an event are guarded, and no others', () => {
  const guarded: string[] = [];
  for (const each of OPERATIONS) {
    const shown = outputSchema(each);
    if (shown === undefined) continue;
    if (holdsGuarded(asJson(shown))) guarded.push(each.name);
    // Custom headers that hold a credential are answered as [REDACTED].
    for (const [path, { format, ...marks }] of everySchema(asJson(shown)))
      if (format === 'password' && !path.endsWith('/headers/*'))
        assert.ok(marks['x-guarded'], `${each.name} ${path}`);
  }
  assert.deepEqual(guarded.toSorted(), [
    'apiKeys.create',
    'apiKeys.rotate',
    'exports.get',
    'exports.list',
    'subscriptions.create',
    'subscriptions.rotateSecret',
    'violations.acknowledge',
    'violations.get',
    'violations.list',
  ]);
});

test('what is made has a Location, unless it is many things', () => {
  const without = OPERATIONS.filter(({ answers, rest }) => answers.Created && !rest.answerHeaders?.Location);
  assert.deepEqual(
    without.map(({ name }) => name),
    ['events.ingestBatch'],
  );
});

test('every Location leads to something that can be read', () => {
  const readable = new Set(
    OPERATIONS.filter(({ rest }) => rest.method === 'GET').map(({ rest }) => rest.path),
  );
  for (const { name, rest } of OPERATIONS) {
    const location = rest.answerHeaders?.Location;
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the set only compares
    if (location !== undefined) assert.ok(readable.has(location as `/${string}`), `${name}: ${location}`);
  }
});

test('what has an entity tag is asked for again, tiles are kept, and a checkpoint is not', () => {
  const cacheOf = ({ rest }: Operation) => rest.answerHeaders?.['Cache-Control'];
  for (const each of OPERATIONS.filter(({ effect, rest }) => effect === 'Read' && rest.answerHeaders?.ETag)) {
    assert.equal(cacheOf(each), 'private, no-cache', each.name);
  }
  assert.match(cacheOf(operationNamed('log.tile')) ?? '', /^private, max-age=\d+, immutable$/);
  assert.match(cacheOf(operationNamed('log.entries')) ?? '', /^private, max-age=\d+, immutable$/);
  assert.equal(cacheOf(operationNamed('log.checkpoint')), 'no-store');
});

test('an answer without a body is Removed, and only that', () => {
  for (const { name, output, answers } of OPERATIONS) {
    assert.equal(output.kind === 'None', answers.Removed !== undefined, name);
  }
});

test('a list can be paged, and pages come as lists', () => {
  for (const each of OPERATIONS) {
    const isPaged = members(each).includes('cursor') && members(each).includes('limit');
    assert.equal(each.output.kind === 'List', isPaged, each.name);
  }
});

test('bytes are offered by REST alone, and every gap has a reason', () => {
  for (const each of OPERATIONS) {
    if (each.output.kind === 'Bytes') assert.equal(gapsOf(each).length, 4, each.name);
    for (const [protocol, reason] of gapsOf(each)) {
      assert.equal(isOffered(each, protocol), false);
      assert.match(reason, /^[A-Z].*\.$/, each.name);
    }
    assert.equal(isOffered(each, 'rest'), true);
  }
});

test('summaries are one imperative line without a full stop', () => {
  for (const { name, summary } of OPERATIONS) assert.match(summary, /^[A-Z][^\n]{5,80}[^.]$/, name);
});

test('related entities are in v2 and not in v1; nothing else differs', () => {
  const [v1, v2] = [operationsIn('v1'), operationsIn('v2')];
  assert.deepEqual(
    v1.map(({ name }) => name),
    v2.map(({ name }) => name),
  );
  const textOf = (operations: readonly Operation[]) => JSON.stringify(operations);
  assert.ok(!textOf(v1).includes('elatedEntit'), 'v1 has no trace of them');
  const get = v2.find(({ name }) => name === 'events.get');
  assert.ok(get && 'includeRelatedEntities' in get.input.properties);
  assert.ok(!textOf(v2).includes('x-added-in'));
});

test('a repeat by key and an unchanged representation are answers that follow from the form', () => {
  const kinds = (each: Operation) => answersOf(each).map(([kind]) => kind);
  assert.deepEqual(kinds(operationNamed('policies.create')), ['Created', 'Repeated']);
  assert.deepEqual(kinds(operationNamed('policies.get')), ['Done', 'Unchanged']);
  assert.deepEqual(kinds(operationNamed('exports.delete')), ['Removed']);
});

test('the ingest operation answers the errors that its documentation promises', () => {
  const errors = errorsOf(operationNamed('events.ingest'));
  for (const code of [
    'MALFORMED_JSON',
    'UNAUTHENTICATED',
    'TENANT_MISMATCH',
    'EVENT_ID_CONFLICT',
    'RATE_LIMITED',
  ]) {
    assert.ok(errors.includes(code as never), code);
  }
  assert.ok(errorsOf(operationNamed('events.get')).includes('EVENT_NOT_FOUND'));
  assert.ok(errorsOf(operationNamed('policies.replace')).includes('VERSION_CONFLICT'));
  assert.ok(errorsOf(operationNamed('policies.create')).includes('VALIDATION_FAILED'));
  // Its verdict is an answer; a text that no body may have, such as one with U+0000 in it, is refused all the same.
  assert.ok(errorsOf(operationNamed('policies.validate')).includes('VALIDATION_FAILED'));
  const ofProbes = errorsOf(operationNamed('health.live'));
  assert.ok(!ofProbes.includes('UNAUTHENTICATED') && !ofProbes.includes('RATE_LIMITED'));
});

test('in REST a list has links around the page; other protocols have the page alone', () => {
  const keys = (schema: ReturnType<typeof outputSchema>) =>
    schema && Object.keys(asJson(schema).properties ?? {});
  assert.deepEqual(keys(outputSchema(operationNamed('events.list'))), ['data', 'pagination']);
  assert.deepEqual(keys(restBodySchema(operationNamed('events.list'))), ['data', 'pagination', 'links']);
  assert.equal(restBodySchema(operationNamed('exports.download')), undefined);
});

test('a name leads to the types of its input, output and answer, and they are true', () => {
  const input: InputOf<'events.ingest'> = {
    event: {
      timestamp: '2026-01-02T03:04:05.678Z',
      actor: { actorType: 'User', userId: 'u-1' },
      action: 'Delete.Invoice',
      resource: { resourceType: 'Invoice', resourceId: 'INV-42' },
    },
  };
  assert.deepEqual(faultsOf(operationNamed('events.ingest').input, input), []);
  const removed: Answer<'exports.delete'> = { kind: 'Removed', body: undefined };
  // @ts-expect-error -- deleting makes nothing
  const wrong: Answer<'exports.delete'> = { kind: 'Created', body: undefined };
  const kinds = answersOf(operationNamed('exports.delete')).map(([kind]) => kind);
  assert.deepEqual([kinds.includes(removed.kind), kinds.includes(wrong.kind)], [true, false]);
});

/** Held by the compiler, not by a run: these lines must, and the marked one must not, be sound types. */
export const HELD_BY_THE_COMPILER = {
  draft: (input: InputOf<'events.ingest'>): EventDraft => input.event,
  page: (page: OutputOf<'events.list'>): Page<AuditEvent> => page,
  // @ts-expect-error -- an event id is no stream id
  swapped: (event: AuditEvent): StreamId => event.eventId,
};
