// Speaks gRPC by the client of grpc-js. Messages are made and read by our own codec, which is held against that of
// protobuf-es by a test of its own: so the story is told in the form of the contract.

import { Client, credentials, Metadata, type ServiceError, status } from '@grpc/grpc-js';
import type { AnswerKind, ErrorInfo, OperationName } from '@tallystick/contract';
import { grpcPath, type MethodPlan } from '@tallystick/contract/grpc';
import { encodeMessage } from '../../../packages/server/src/protocols/protobuf/encode.ts';
import { messageJson } from '../../../packages/server/src/protocols/protobuf/to-json.ts';
import { interfaceOf } from '../../../packages/server/src/protocols/protobuf/wire-form.ts';
import { WireReader } from '../../../packages/server/src/protocols/protobuf/reader.ts';
import type { TestApp } from '../../../packages/server/src/testing/test-app.ts';
import type { Asking, Speaker, Spoken, Told } from '../speaker.ts';
import { callHeaders } from './rest.ts';

export const GRPC: Spoken = {
  protocol: 'grpc',
  versions: ['v1', 'v2'],
  settings: { Grpc__Port: '0' },
  speak: (app) => Promise.resolve(grpcSpeaker(app)),
};

const LIMITS = { textMax: 1e8 };

export function grpcSpeaker({ grpcPort }: Pick<TestApp, 'grpcPort'>): Speaker {
  const client = new Client(`127.0.0.1:${grpcPort}`, credentials.createInsecure());
  return {
    protocol: 'grpc',
    versions: GRPC.versions,
    ask: (name, input, by = {}) => askBy(client, name, input, by),
    [Symbol.asyncDispose]: () => {
      client.close();
      return Promise.resolve();
    },
  };
}

export function metadataOf(by: Asking): Metadata {
  const metadata = new Metadata();
  for (const [name, value] of Object.entries(callHeaders(by))) metadata.set(name, value);
  return metadata;
}

function askBy(client: Client, name: OperationName, input: object, by: Asking): Promise<Told> {
  const version = by.version ?? 'v1';
  const path = grpcPath(version, name);
  const method = interfaceOf(version).methods.find((each) => each.path === path)!;
  let headers: Record<string, string> = {};
  return new Promise((resolve) => {
    const asIs = (bytes: Buffer) => bytes;
    const request = encodeMessage(method.request, input);
    const call = client.makeUnaryRequest(path, asIs, asIs, request, metadataOf(by), (failed, answer) => {
      if (failed !== null) resolve(errorOf(failed, headers));
      else resolve(answerOf(method, answer!, headers));
    });
    call.on('metadata', (metadata) => (headers = textsOf(metadata)));
  });
}

function textsOf(metadata: Metadata): Record<string, string> {
  return Object.fromEntries(Object.entries(metadata.getMap()).map(([name, value]) => [name, String(value)]));
}

function answerOf(
  { response, bodyField, operation }: MethodPlan,
  answer: Buffer,
  headers: Record<string, string>,
): Told {
  const kind = headers['tallystick-answer'] as AnswerKind;
  if (operation.output.kind === 'None') return { kind, headers };
  const { etag: _, ...members } = JSON.parse(String(messageJson(response, answer, LIMITS))) as Record<
    string,
    unknown
  >;
  return { kind, body: bodyField === undefined ? members : members[bodyField], headers };
}

function errorOf(failed: ServiceError, before: Record<string, string>): Told {
  const headers = { ...before, ...textsOf(failed.metadata) };
  const [bytes] = failed.metadata.get('grpc-status-details-bin');
  if (!(bytes instanceof Buffer)) throw failed;
  const own = detailsIn(bytes).find(({ type }) => /tallystick\.v\d\.ErrorInfo$/.test(type));
  const plan = interfaceOf('v1').plans.messages.get('ErrorInfo')!;
  const error = JSON.parse(String(messageJson(plan, own!.value, LIMITS))) as ErrorInfo;
  if (failed.code === status.UNKNOWN) throw failed;
  return { error, headers };
}

/** Of a google.rpc.Status. */
export function detailsIn(bytes: Buffer): { type: string; value: Uint8Array }[] {
  const found: { type: string; value: Uint8Array }[] = [];
  for (const [number, inside] of fieldsOf(bytes)) {
    if (number !== 3) continue;
    const any = new Map(fieldsOf(inside));
    found.push({ type: Buffer.from(any.get(1)!).toString(), value: any.get(2) ?? Buffer.alloc(0) });
  }
  return found;
}

/** Those whose values are bytes. */
export function fieldsOf(bytes: Uint8Array): [number: number, inside: Uint8Array][] {
  const reader = new WireReader(bytes);
  const found: [number, Uint8Array][] = [];
  while (reader.pos < reader.end) {
    const tag = reader.tag();
    if ((tag & 7) !== 2) {
      reader.pass(tag);
      continue;
    }
    const end = reader.span();
    found.push([tag >>> 3, reader.bytes.subarray(reader.pos, end)]);
    reader.pos = end;
  }
  return found;
}
