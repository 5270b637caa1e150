// Our codec against protobuf-es, which gets our descriptors: what it writes we read as the contract has it, and it reads
// what we write. Random values are made from the schemas; the seed is printed when one fails.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  create,
  createFileRegistry,
  type DescMessage,
  fromBinary,
  fromJson,
  fromJsonString,
  type JsonValue,
  toBinary,
  toJson,
} from '@bufbuild/protobuf';
import {
  file_google_protobuf_struct,
  FileDescriptorProtoSchema,
  FileDescriptorSetSchema,
} from '@bufbuild/protobuf/wkt';
import { asJson, EXAMPLES, type JsonSchema, operationNamed, outputSchema } from '@tallystick/contract';
import { grpcInterface, type MessagePlan } from '@tallystick/contract/grpc';
import { canonicalJson } from '@tallystick/evidence';
import * as fc from 'fast-check';
import { asWritten } from '../../written-json.ts';
import { bodyLimits } from '../input/body-limits.ts';
import { type ParsedBody, parseBody } from '../input/parse-body.ts';
import { messageJson, splitMessage } from './to-json.ts';
import { filesOf } from './descriptors.ts';
import { encodeMessage } from './encode.ts';
import { fromProtoJson, toProtoJson } from './json-form.ts';
import { parseWire } from './wire-form.ts';
import { WireWriter } from './writer.ts';

const v2 = grpcInterface('v2');
const files = filesOf(v2).map(({ bytes }) => fromBinary(FileDescriptorProtoSchema, bytes));
const set = create(FileDescriptorSetSchema, { file: [file_google_protobuf_struct.proto, ...files] });
const registry = createFileRegistry(set);
const LIMITS = { textMax: 1e7 };

const messageText = (...args: Parameters<typeof messageJson>) => String(messageJson(...args));

function descriptor({ name }: MessagePlan): DescMessage {
  const found = registry.getMessage(`tallystick.v2.${name}`);
  assert.ok(found, name);
  return found;
}

/** Values that a schema allows as far as its types go. */
function valuesOf(schema: JsonSchema): fc.Arbitrary<unknown> {
  const { type, items, properties, required = [], additionalProperties } = schema;
  if (schema.const !== undefined) return fc.constant(schema.const);
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum);
  const branches = (schema.oneOf ?? schema.anyOf ?? []).filter((each) => each.type !== 'null');
  if (branches.length > 0) return fc.oneof(...branches.map(valuesOf));
  if (type === 'integer') return (schema.maximum ?? Infinity) < 2 ** 31 ? fc.integer() : fc.maxSafeInteger();
  if (type === 'number') return fc.double({ noNaN: true, noDefaultInfinity: true });
  if (type === 'boolean') return fc.boolean();
  if (type === 'string') return schema.format === 'byte' ? BASE64 : TEXT;
  if (type === undefined) return FREE;
  if (items !== undefined) {
    const fixed = items.type === 'array' ? {} : { maxLength: 3 };
    const count =
      schema.title === undefined ? fixed : { minLength: schema.maxItems!, maxLength: schema.maxItems! };
    return fc.array(valuesOf(items), count.maxLength === undefined ? { maxLength: 2 } : count);
  }
  if (properties === undefined) {
    const values = typeof additionalProperties === 'object' ? valuesOf(additionalProperties) : FREE;
    return fc.dictionary(TEXT, values, { maxKeys: 3 });
  }
  const sent = Object.entries(properties).filter(([, each]) => each.readOnly !== true);
  const members = Object.fromEntries(sent.map(([name, each]) => [name, valuesOf(each)]));
  return fc.record(members, { requiredKeys: required.filter((name) => name in members) });
}

const TEXT = fc.string({ unit: 'grapheme', maxLength: 6 });
const BASE64 = fc
  .uint8Array({ minLength: 1, maxLength: 5 })
  .map((bytes) => Buffer.from(bytes).toString('base64'));
const FREE = fc.jsonValue({ maxDepth: 2 }).map((value) => JSON.parse(JSON.stringify(value)) as unknown);

function sameMeaning(text: string, value: unknown): void {
  const tidy = (json: string) =>
    canonicalJson(JSON.parse(json, (_, inner: unknown) => pruned(inner)) as never);
  assert.equal(tidy(text), tidy(JSON.stringify(value)));
}

/** Lists and maps without entries are absent over the wire, where they need not be there. */
function pruned(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  const isThere = ([, each]: [string, unknown]) =>
    typeof each !== 'object' || each === null || Object.keys(each).length > 0;
  return Object.fromEntries(Object.entries(value).filter(isThere));
}

const planNamed = (name: string): MessagePlan => v2.plans.messages.get(name)!;
const DRAFT = planNamed('EventDraft');
const readDraft = (bytes: Uint8Array) =>
  JSON.parse(messageText(DRAFT, bytes, LIMITS)) as Record<string, unknown>;
const numberOf = (plan: MessagePlan, name: string) => plan.fields.find((each) => each.name === name)!.number;

describe('messages', () => {
  for (const { operation, request, response, bodyField } of v2.methods.filter(
    ({ streams }) => streams === undefined,
  )) {
    it(`of ${operation.name} are read and written as protobuf-es does`, () => {
      const output = outputSchema(operation);
      const halves: [MessagePlan, JsonSchema, (value: unknown) => unknown][] = [
        [request, asJson(operation.input), (value) => value],
      ];
      if (output !== undefined)
        halves.push([
          response,
          asJson(output),
          (value) => (bodyField === undefined ? value : { [bodyField]: value }),
        ]);
      for (const [plan, schema, around] of halves) {
        fc.assert(
          fc.property(valuesOf(schema), (drawn) => {
            const value = around(drawn);
            const bytes = encodeMessage(plan, value);
            const message = fromBinary(descriptor(plan), bytes);
            const written = fromJson(descriptor(plan), toProtoJson(plan, value) as JsonValue);
            assert.deepEqual(toJson(descriptor(plan), written), toJson(descriptor(plan), message), 'JSON');
            const again = toBinary(descriptor(plan), written);
            sameMeaning(messageText(plan, again, LIMITS), value);
            assert.equal(
              canonicalJson(JSON.parse(messageText(plan, bytes, LIMITS)) as never),
              messageText(plan, bytes, LIMITS),
            );
            if (plan === request)
              sameMeaning(JSON.stringify(fromProtoJson(plan, toProtoJson(plan, value))), value);
          }),
          { numRuns: 8 },
        );
      }
    });
  }
});

describe('a body that is parsed from the wire', () => {
  const BATCH = v2.methods.find(({ method }) => method === 'IngestBatch')!;
  const [field] = BATCH.request.fields;
  assert.ok(field?.type.kind === 'Message');
  const plan = field.type.of;
  const rules = bodyLimits(operationNamed('events.ingestBatch'));
  const parsedTwice = (bytes: Uint8Array) => {
    const form = { kind: 'Wire', version: 'v2', message: plan.name, textMax: LIMITS.textMax } as const;
    const plain = ({ digest, ...parsed }: ParsedBody) => ({ ...parsed, digest: [...digest!] });
    return [
      plain(parseWire(bytes, form, rules, true)),
      plain(parseBody(messageJson(plan, bytes, LIMITS), rules, true)),
    ] as const;
  };
  const batchOf = (payload: unknown) => encodeMessage(plan, { events: [{ action: 'A.B', payload }] });

  it('is what the scan of its JSON text finds: text, outline and digest', () => {
    const body = asJson(operationNamed('events.ingestBatch').input.properties.batch);
    const crowded = fc.dictionary(TEXT, FREE, { maxKeys: 30 });
    const number = fc.oneof(
      fc.double({ noNaN: true, noDefaultInfinity: true }),
      fc.bigInt({ max: 2n ** 70n, min: -(2n ** 70n) }).map(Number),
    );
    const drawn = fc.tuple(
      valuesOf(body),
      fc.array(fc.oneof(crowded, fc.record({ numbers: fc.array(number) })), { maxLength: 3 }),
    );
    fc.assert(
      fc.property(drawn, ([batch, payloads]) => {
        const whole = encodeMessage(plan, batch);
        const more = encodeMessage(plan, { events: payloads.map((payload) => ({ payload })) });
        const [found, expected] = parsedTwice(Buffer.concat([whole, more]));
        assert.deepEqual(found, expected);
      }),
      { numRuns: 100 },
    );
  });

  it('is scanned where it is nested too deep, or a JSON text stands in it', () => {
    let deep: unknown = 1;
    for (let level = 0; level < 32; level++) deep = { a: deep };
    const asText = (json: string) =>
      new WireWriter()
        .tag(plan.fields[0]!.number, 2)
        .bytes(new WireWriter().tag(numberOf(DRAFT, 'payloadJson'), 2).text(json).finish())
        .finish();
    const bodies: [bytes: Uint8Array, issue: RegExp | undefined][] = [
      [batchOf(deep), /nested deeper/],
      [asText('{"b":1,"a":1.0}'), undefined],
      [asText('{"a":1,"a":2}'), /duplicate|twice|more than once/],
    ];
    for (const [bytes, issue] of bodies) {
      const [found, expected] = parsedTwice(bytes);
      assert.deepEqual(found, expected);
      assert.equal(found.violations.length, issue === undefined ? 0 : 1);
      if (issue !== undefined) assert.match(found.violations[0]!.issue, issue);
    }
  });

  it('has the keys of a payload in order, each once, however they came', () => {
    const parts = ['b', 'a', 'b', '\u{10000}', '\ue000'].map((key, i) =>
      encodeMessage(DRAFT, { payload: { [key]: i } }),
    );
    assert.equal(
      messageText(DRAFT, Buffer.concat(parts), LIMITS),
      '{"payload":{"a":1,"b":2,"\u{10000}":3,"\ue000":4}}',
    );
  });
});

describe('the wire format', () => {
  it('lets the last value count, puts messages in pieces together, and passes unknown fields over', () => {
    const [action, actor, outcome] = ['action', 'actor', 'outcome'].map((name) => numberOf(DRAFT, name));
    const user = encodeMessage(planNamed('Actor'), { actorType: 'User' });
    const id = encodeMessage(planNamed('Actor'), { userId: 'u-1' });
    const writer = new WireWriter()
      .tag(action!, 2)
      .text('A.A')
      .tag(actor!, 2)
      .bytes(user)
      .tag(500, 0)
      .varint(3)
      .tag(501, 1)
      .double(1)
      .tag(502, 2)
      .text('x')
      .tag(504, 3)
      .tag(505, 0)
      .varint(1)
      .tag(504, 4)
      .tag(503, 5)
      .bytes(Buffer.of(1, 1, 1))
      .tag(action!, 2)
      .text('B.B')
      .tag(actor!, 2)
      .bytes(id)
      .tag(outcome!, 0)
      .varint(2)
      .tag(outcome!, 0)
      .varint(0)
      .tag(outcome!, 2)
      .text('not a number');
    // A fixed field of four bytes: the length that `bytes` writes is its first.
    assert.deepEqual(readDraft(writer.finish()), {
      action: 'B.B',
      actor: { actorType: 'User', userId: 'u-1' },
      outcome: 'Failure',
    });
  });

  it('takes an object as its JSON text, and the last of both forms', () => {
    const [struct, text] = [numberOf(DRAFT, 'payload'), numberOf(DRAFT, 'payloadJson')];
    const object = encodeMessage(DRAFT, { payload: { a: 1 } });
    const asText = (json: string) => new WireWriter().tag(text, 2).text(json).finish();
    assert.deepEqual(readDraft(Buffer.concat([object, asText('{"b":1.50}')])), { payload: { b: 1.5 } });
    assert.deepEqual(readDraft(Buffer.concat([asText('{"b":1}'), object])), { payload: { a: 1 } });
    const parts = Buffer.concat([object, encodeMessage(DRAFT, { payload: { b: 2 } })]);
    assert.deepEqual(readDraft(parts), { payload: { a: 1, b: 2 } });
    assert.match(messageText(DRAFT, asText(' {"b": 1.50} '), LIMITS), /"payload": \{"b": 1\.50\} /);
    for (const json of ['', '{', '[]', '1', '{},"action":{}', '{}}', '{}{}', '{"a":"}"', 'null'])
      assert.throws(() => readDraft(asText(json)), /a JSON text is not one object/, json);
    assert.equal(struct !== text, true);
  });

  it('names what is set to null', () => {
    const patch = planNamed('SubscriptionPatch');
    const value = {
      name: 'x',
      clearance: null,
      headers: { 'X-Old': null, 'X-New': 'a' },
      retry: { maxDelay: null },
    };
    const read = JSON.parse(messageText(patch, encodeMessage(patch, value), LIMITS)) as unknown;
    assert.deepEqual(read, value);
    const unknown = encodeMessage(patch, { nullMembers: [] });
    const more = new WireWriter().tag(numberOf(patch, 'nullMembers'), 2).text('time_out').finish();
    assert.deepEqual(JSON.parse(messageText(patch, Buffer.concat([unknown, more]), LIMITS)), {
      time_out: null,
    });
    const proto = {
      name: 'x',
      nullMembers: ['clearance', 'headers.X-Old'],
      headers: { 'X-New': 'a' },
      retry: { null_members: ['max_delay'] },
    };
    assert.deepEqual(fromProtoJson(patch, proto), value);
  });

  it('reads packed lists and separate items', () => {
    const plan = planNamed('EventsServiceListRequest');
    const number = numberOf(plan, 'outcome');
    const packed = new WireWriter()
      .tag(number, 2)
      .bytes(Buffer.of(1, 3, 9))
      .tag(number, 0)
      .varint(2)
      .finish();
    assert.equal(messageText(plan, packed, LIMITS), '{"outcome":["Success","Denied","UNKNOWN_9","Failure"]}');
  });

  it('writes numbers exactly, and those that no double holds as they are', () => {
    const plan = planNamed('StreamsServiceListEventsRequest');
    const read = (bytes: readonly number[]) =>
      messageText(plan, Buffer.of(numberOf(plan, 'fromSequence') * 8, ...bytes), LIMITS);
    assert.equal(read([0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x0f]), '{"fromSequence":9007199254740991}');
    assert.equal(read([0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01]), '{"fromSequence":-1}');
    assert.equal(
      read([0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f]),
      '{"fromSequence":9223372036854775807}',
    );
  });

  it('refuses what is not sound, at whatever byte it is cut off', () => {
    const bytes = encodeMessage(DRAFT, EXAMPLES['EventDraft']);
    for (let length = 0; length < bytes.length; length++) {
      try {
        messageText(DRAFT, bytes.subarray(0, length), LIMITS);
      } catch (error) {
        assert.equal((error as { code?: string }).code, 'MALFORMED_JSON', `${length}: ${String(error)}`);
      }
    }
    const bad: [bytes: Buffer, issue: RegExp][] = [
      [Buffer.of(0x00, 0x01), /no number/],
      [Buffer.of(0x0f), /no known kind/],
      [Buffer.of(0x0c), /no known kind/],
      [Buffer.of(0x1a, 0x05, 0x41), /middle of a field/],
      [Buffer.of(0x1a, 0x02, 0xc3, 0x28), /not in UTF-8/],
      [Buffer.of(0x08, ...Array.from({ length: 11 }, () => 0xff)), /over 10 bytes/],
      [Buffer.from(Array.from({ length: 200 }, () => 0x0b)), /nested over 100/],
      [Buffer.of(0x0b, 0x14), /not begun/],
    ];
    for (const [sent, issue] of bad) assert.throws(() => readDraft(sent), issue, sent.toString('hex'));
    const nested = new WireWriter();
    const deeper = (depth: number): void => {
      nested.tag(6, 2).message(() => {
        if (depth < 500) nested.tag(1, 2).message(() => deeper(depth + 1));
      });
    };
    nested.tag(numberOf(DRAFT, 'payload'), 2).message(() => {
      nested.tag(1, 2).message(() => nested.tag(2, 2).message(() => deeper(0)));
    });
    assert.throws(() => readDraft(nested.finish()), /nested over 100 deep/);
    for (const number of [NaN, Infinity]) {
      const writer = new WireWriter().tag(numberOf(DRAFT, 'payload'), 2);
      writer.message(() =>
        writer.tag(1, 2).message(() => writer.tag(2, 2).message(() => writer.tag(2, 1).double(number))),
      );
      assert.throws(() => readDraft(writer.finish()), /not finite/);
    }
  });

  it('stops where a message becomes too long as text, or has too many values', () => {
    const batch = planNamed('EventsServiceIngestBatchRequest');
    const many = new WireWriter().tag(1, 2);
    many.message(() => {
      for (let i = 0; i < 200_000; i++) many.tag(1, 2).varint(0);
    });
    assert.throws(() => messageText(batch, many.finish(), LIMITS), /over 100000 values/);
    const escaped = encodeMessage(DRAFT, { action: '\u0001'.repeat(1000) });
    assert.throws(() => messageText(DRAFT, escaped, { textMax: 5000 }), /over 5000 bytes as JSON/);
    const ingest = planNamed('EventsServiceIngestRequest');
    const whole = encodeMessage(ingest, { event: { action: 'A.B' } });
    const { members, body } = splitMessage(ingest, Buffer.concat([whole, whole]), 'event', LIMITS);
    assert.deepEqual([String(members), messageText(DRAFT, body!.bytes, LIMITS)], ['{}', '{"action":"A.B"}']);
  });

  it('writes objects that are there as their text', () => {
    const event = planNamed('AuditEvent');
    const bytes = encodeMessage(event, { eventId: 'e', payload: asWritten('{"a":[1,null,{"b":"c"}]}') });
    assert.equal(messageText(event, bytes, LIMITS), '{"eventId":"e","payload":{"a":[1,null,{"b":"c"}]}}');
    const parsed = fromJsonString(
      descriptor(event),
      JSON.stringify(toProtoJson(event, { sequence: 2 ** 53 - 1 })),
    );
    assert.equal(
      messageText(event, toBinary(descriptor(event), parsed), LIMITS),
      '{"sequence":9007199254740991}',
    );
  });
});
