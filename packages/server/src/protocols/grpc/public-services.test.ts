// What is asked for no credential: grpc.health.v1, and reflection, by which a client is made at run time.

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { create, createFileRegistry, fromBinary, toBinary } from '@bufbuild/protobuf';
import {
  file_google_protobuf_struct,
  type FileDescriptorProto,
  FileDescriptorProtoSchema,
  FileDescriptorSetSchema,
} from '@bufbuild/protobuf/wkt';
import { Client, credentials, Metadata, type ServiceError, status } from '@grpc/grpc-js';
import { startTestApp, type TestApp } from '../../testing/test-app.ts';
import { WireReader } from '../protobuf/reader.ts';
import { WireWriter } from '../protobuf/writer.ts';

const SETTINGS = { Grpc__Port: '0', Telemetry__Level: 'Warn' };
const SERVING = 1;
const NOT_SERVING = 2;
const SERVICE_UNKNOWN = 3;

let app: TestApp;
let client: Client;
before(async () => {
  app = await startTestApp(SETTINGS);
  client = clientOf(app);
});
after(async () => {
  client.close();
  await app[Symbol.asyncDispose]();
});

const same = (bytes: Buffer) => bytes;
const textField = (number: number, text: string) => new WireWriter().tag(number, 2).text(text).finish();
const clientOf = ({ grpcPort }: TestApp) => new Client(`127.0.0.1:${grpcPort}`, credentials.createInsecure());

/** The fields of a message that are bytes or numbers. */
function fieldsOf(bytes: Uint8Array): { readonly number: number; readonly value: Uint8Array | number }[] {
  const reader = new WireReader(bytes);
  const fields: { number: number; value: Uint8Array | number }[] = [];
  while (reader.pos < reader.end) {
    const tag = reader.tag();
    if ((tag & 7) === 2) {
      const end = reader.span();
      fields.push({ number: tag >>> 3, value: bytes.subarray(reader.pos, end) });
      reader.pos = end;
    } else {
      reader.varint();
      fields.push({ number: tag >>> 3, value: reader.low });
    }
  }
  return fields;
}

describe('grpc.health.v1', () => {
  const check = (service: string) =>
    new Promise<Buffer>((resolve, reject) => {
      const request = textField(1, service);
      const metadata = new Metadata();
      client.makeUnaryRequest(
        '/grpc.health.v1.Health/Check',
        same,
        same,
        request,
        metadata,
        (error, answer) => (answer === undefined ? reject(error ?? new Error('no answer')) : resolve(answer)),
      );
    });
  const watch = (of: Client, service: string) =>
    of.makeServerStreamRequest('/grpc.health.v1.Health/Watch', same, same, textField(1, service));

  it('says whether a service can be called', async () => {
    for (const service of ['', 'tallystick.v1.EventsService', 'tallystick.v2.StreamsService'])
      assert.deepEqual([...(await check(service))], [8, SERVING], service);
    await assert.rejects(check('tallystick.v1.Nothing'), { code: status.NOT_FOUND });
  });

  it('is watched: the status at once, another one when the service stops, and the end', async () => {
    await using stopped = await startTestApp(SETTINGS);
    const watcher = clientOf(stopped);
    const seen: number[] = [];
    const stream = watch(watcher, '');
    const ended = new Promise<ServiceError>((resolve) => stream.once('error', resolve as () => void));
    await new Promise<void>((resolve) =>
      stream.on('data', (bytes: Buffer) => {
        seen.push(bytes[1]!);
        resolve();
      }),
    );
    await stopped[Symbol.asyncDispose]();
    assert.equal((await ended).code, status.UNAVAILABLE);
    assert.deepEqual(seen, [SERVING, NOT_SERVING]);
    watcher.close();
  });

  it('is watched also for a service that there is none of, by so many of a sender', async () => {
    const open = async () => {
      const stream = watch(client, 'tallystick.v9.Nothing');
      const first = await new Promise<Buffer | ServiceError>((resolve) => {
        stream.once('data', resolve);
        stream.on('error', resolve);
      });
      return { stream, first };
    };
    const all = await Promise.all(Array.from({ length: 21 }, open));
    const statuses = all.flatMap(({ first }) => (Buffer.isBuffer(first) ? [first[1]] : []));
    assert.deepEqual(
      statuses,
      statuses.map(() => SERVICE_UNKNOWN),
    );
    const refused = all.flatMap(({ first }) => (Buffer.isBuffer(first) ? [] : [first.code]));
    assert.deepEqual(refused, [status.RESOURCE_EXHAUSTED]);
    for (const { stream } of all) stream.cancel();
    // A unary call is another matter.
    assert.deepEqual([...(await check(''))], [8, SERVING]);
  });
});

describe('server reflection', () => {
  async function reflected(version: string, ...requests: readonly Buffer[]): Promise<Buffer[]> {
    const path = `/grpc.reflection.${version}.ServerReflection/ServerReflectionInfo`;
    const stream = client.makeBidiStreamRequest(path, same, same);
    for (const request of requests) stream.write(request);
    stream.end();
    return (await stream.toArray()) as Buffer[];
  }
  const bytesIn = (message: Uint8Array, number: number) =>
    fieldsOf(message).flatMap((each) => (each.number === number ? [each.value as Uint8Array] : []));
  const filesIn = (answer: Uint8Array): FileDescriptorProto[] =>
    bytesIn(answer, 4)
      .flatMap((files) => bytesIn(files, 1))
      .map((file) => fromBinary(FileDescriptorProtoSchema, file));

  for (const version of ['v1', 'v1alpha'])
    it(`shows what can be called, and every service that it names, by ${version}`, async () => {
      const [listed] = await reflected(version, textField(7, ''));
      const services = bytesIn(listed!, 6)
        .flatMap((list) => bytesIn(list, 1))
        .map((each) => String(bytesIn(each, 1)[0]));
      assert.ok(services.includes('tallystick.v1.EventsService'), services.join());
      const answers = await reflected(version, ...services.map((name) => textField(4, name)));
      for (const [i, answer] of answers.entries()) {
        const set = create(FileDescriptorSetSchema, { file: filesIn(answer) });
        assert.ok(createFileRegistry(set).getService(services[i]!), services[i]);
      }
    });

  it('finds files by their names and by what is inside, and says what it does not find', async () => {
    const names = ['tallystick.v1.EventsService.Ingest', 'tallystick.v1.AuditEvent.event_id'];
    const [method, field, file, none, original] = await reflected(
      'v1',
      ...names.map((name) => textField(4, name)),
      textField(3, 'google/protobuf/struct.proto'),
      textField(4, 'tallystick.v1.EventsServiceX'),
      Buffer.concat([textField(1, 'host'), textField(3, 'no.proto')]),
    );
    assert.deepEqual(
      [method, field].map((answer) => filesIn(answer!).at(-1)!.package),
      ['tallystick.v1', 'tallystick.v1'],
    );
    const [struct] = filesIn(file!);
    assert.deepEqual(
      toBinary(FileDescriptorProtoSchema, struct!),
      toBinary(FileDescriptorProtoSchema, file_google_protobuf_struct.proto),
    );
    for (const answer of [none, original])
      assert.equal(fieldsOf(bytesIn(answer!, 7)[0]!)[0]!.value, status.NOT_FOUND);
    assert.equal(String(bytesIn(original!, 1)[0]), 'host');
    assert.equal(
      String(bytesIn(original!, 2)[0]),
      `${String(textField(1, 'host'))}${String(textField(3, 'no.proto'))}`,
    );
  });

  it('has the health service as its .proto file has it', async () => {
    const [answer] = await reflected('v1', textField(4, 'grpc.health.v1.Health.Watch'));
    const [health] = filesIn(answer!);
    assert.deepEqual(
      health!.service[0]!.method.map(({ name, serverStreaming }) => [name, serverStreaming]),
      [
        ['Check', false],
        ['Watch', true],
      ],
    );
    const [, response] = health!.messageType;
    assert.deepEqual(
      response!.enumType[0]!.value.map(({ name, number }) => [name, number]),
      [
        ['UNKNOWN', 0],
        ['SERVING', SERVING],
        ['NOT_SERVING', NOT_SERVING],
        ['SERVICE_UNKNOWN', SERVICE_UNKNOWN],
      ],
    );
  });
});
