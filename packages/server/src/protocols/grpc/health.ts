// grpc.health.v1, which orchestrators and balancers ask: whether a service can be called now. As ready as the whole process is,
// and as the probes of REST, it needs no credential.

import { operationNamed, VERSIONS } from '@tallystick/contract';
import { grpcPackage } from '@tallystick/contract/grpc';
import { parseJson } from '@tallystick/evidence';
import { receivedMember } from '../../call.ts';
import { passThrough } from '../../gateway/pipeline.ts';
import { writeJson } from '../../written-json.ts';
import { ratedSender } from '../http/rated-sender.ts';
import type { Exchange } from '../http/mount.ts';
import { messageBinding, receiveMessage } from '../input/message-input.ts';
import { interfaceOf } from '../protobuf/wire-form.ts';
import { WIRE, WireReader } from '../protobuf/reader.ts';
import { VARINT, WireWriter } from '../protobuf/writer.ts';
import { type CallParts, readMessage } from './call.ts';
import { NOT_FOUND } from './error-status.ts';
import type { CallForm } from './form.ts';
import { malformed } from './frames.ts';
import { type CallReply, messageReply, statusReply } from './reply.ts';

export const HEALTH_CHECK = '/grpc.health.v1.Health/Check';

const READY = messageBinding(operationNamed('health.ready'));
const REQUEST = { bytesMax: 1024, timeoutMs: READY.limits.timeoutMs };
const SERVICE = 1;
const STATUS = 1;
const SERVING = { name: 'SERVING', number: 1 };
const NOT_SERVING = { name: 'NOT_SERVING', number: 2 };

let services: ReadonlySet<string> | undefined;

export async function checkHealth(
  exchange: Exchange,
  form: CallForm,
  gone: AbortSignal,
  parts: CallParts,
): Promise<CallReply> {
  const { correlation, path } = exchange;
  const sending = { sender: '', onSent: () => {} };
  const service = serviceIn(await readMessage(exchange, REQUEST, form, sending, parts), form);
  services ??= new Set(['', 'grpc.health.v1.Health', ...VERSIONS.flatMap(servicesOf)]);
  if (!services.has(service)) {
    const message = `There is no service ${service.slice(0, 200)}.`;
    return statusReply(form, { status: NOT_FOUND, message, details: [] }, {});
  }
  const { body } = await passThrough(
    {
      operation: READY.operation,
      version: undefined,
      credentials: { apiKey: undefined, authorization: undefined },
      tenant: undefined,
      addressedTenant: undefined,
      idempotencyKey: undefined,
      correlation,
      sender: ratedSender(exchange, parts.gateway.clock),
      path,
      gone,
      receive: (sender) =>
        receiveMessage(READY, { members: {}, body: undefined, address: path }, sender, false, parts.bodies),
    },
    parts.gateway,
  );
  const status = (body as { status: string }).status === 'Unhealthy' ? NOT_SERVING : SERVING;
  const message =
    form.codec === 'Json'
      ? Buffer.from(writeJson({ status: status.name }))
      : new WireWriter().tag(STATUS, VARINT).varint(status.number).finish();
  return messageReply(form, message);
}

function servicesOf(version: (typeof VERSIONS)[number]): string[] {
  return interfaceOf(version).methods.map(({ service }) => `${grpcPackage(version)}.${service}`);
}

function serviceIn(bytes: Uint8Array, { codec }: CallForm): string {
  if (codec === 'Json') return serviceInJson(Buffer.from(bytes).toString());
  const reader = new WireReader(bytes);
  let service = '';
  while (reader.pos < reader.end) {
    const tag = reader.tag();
    if (tag === SERVICE * 8 + WIRE.Bytes) service = reader.nextText();
    else reader.pass(tag);
  }
  return service;
}

function serviceInJson(text: string): string {
  try {
    const service = receivedMember(parseJson(text), 'service');
    return typeof service === 'string' ? service : '';
  } catch {
    throw malformed('its message is no JSON');
  }
}
