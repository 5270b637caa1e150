// grpc.health.v1, which orchestrators and balancers ask: whether a service can be called now. As ready as the whole process is,
// and as the probes of REST, it needs no credential.

import { operationNamed, VERSIONS } from '@tallystick/contract';
import { grpcPackage } from '@tallystick/contract/grpc';
import { parseJson } from '@tallystick/evidence';
import { receivedMember } from '../../call.ts';
import { passThrough } from '../../gateway/pipeline.ts';
import { wait } from '../../runtime/clock.ts';
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
import { HEALTH_SERVICE } from './known-files.ts';
import { beginLasting, lastingReply } from './lasting-reply.ts';
import { type CallReply, messageReply, statusReply } from './reply.ts';

export const HEALTH_CHECK = `/${HEALTH_SERVICE}/Check`;
export const HEALTH_WATCH = `/${HEALTH_SERVICE}/Watch`;

const READY = messageBinding(operationNamed('health.ready'));
const REQUEST = { bytesMax: 1024, timeoutMs: READY.limits.timeoutMs };
const SERVICE = 1;
const STATUS = 1;

interface Status {
  readonly name: string;
  readonly number: number;
}

const SERVING: Status = { name: 'SERVING', number: 1 };
const NOT_SERVING: Status = { name: 'NOT_SERVING', number: 2 };
const SERVICE_UNKNOWN: Status = { name: 'SERVICE_UNKNOWN', number: 3 };

/** How often a watched status is looked at. */
const LOOK_MS = 1000;

export async function checkHealth(
  exchange: Exchange,
  form: CallForm,
  gone: AbortSignal,
  parts: CallParts,
): Promise<CallReply> {
  const service = await askedService(exchange, form, parts);
  if (!isServed(service)) {
    const message = `There is no service ${service.slice(0, 200)}.`;
    return statusReply(form, { status: NOT_FOUND, message, details: [] }, {});
  }
  return messageReply(form, encoded(await statusNow(exchange, gone, parts), form));
}

/** The status at once, and whenever it is another; that of a service that there is none of is said, too. */
export async function watchHealth(exchange: Exchange, form: CallForm, parts: CallParts): Promise<CallReply> {
  const service = await askedService(exchange, form, parts);
  const { clock } = parts.gateway;
  const lasting = beginLasting(exchange, exchange.partition(), parts.strangers, parts);
  const { signal } = lasting.answer;
  const changes = async function* () {
    let told: Status | undefined;
    while (!signal.aborted) {
      const status = isServed(service) ? await statusNow(exchange, signal, parts) : SERVICE_UNKNOWN;
      if (status !== told) yield encoded(status, form);
      told = status;
      await wait(clock, LOOK_MS, signal);
    }
    if (signal.reason === 'Draining' && told === SERVING) yield encoded(NOT_SERVING, form);
  };
  return lastingReply(exchange, form, lasting, changes(), parts);
}

async function askedService(exchange: Exchange, form: CallForm, parts: CallParts): Promise<string> {
  const sending = { sender: '', onSent: () => {} };
  return serviceIn(await readMessage(exchange, REQUEST, form, sending, parts), form);
}

async function statusNow(exchange: Exchange, gone: AbortSignal, parts: CallParts): Promise<Status> {
  const { correlation, path } = exchange;
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
  return (body as { status: string }).status === 'Unhealthy' ? NOT_SERVING : SERVING;
}

function encoded({ name, number }: Status, { codec }: CallForm): Uint8Array {
  if (codec === 'Json') return Buffer.from(writeJson({ status: name }));
  return new WireWriter().tag(STATUS, VARINT).varint(number).finish();
}

let services: readonly string[] | undefined;

export function servedServices(): readonly string[] {
  services ??= [...new Set([HEALTH_SERVICE, ...VERSIONS.flatMap(servicesOf)])];
  return services;
}

/** The empty name is the whole process. */
const isServed = (service: string): boolean => service === '' || servedServices().includes(service);

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
