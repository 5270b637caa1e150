// SOAP 1.1 and 1.2 at one address, with its description beside it. The operation is known by the action before the body is
// read; where the request names no action, its sender is judged first, and the body then says which operation it is.

import { AuditError, LIMITS } from '@tallystick/contract';
import {
  SOAP_PATH,
  SOAP_VERSION,
  type SoapOperation,
  soapOperations,
  soapWsdl,
  soapXsd,
} from '@tallystick/contract/soap';
import type { Received } from '../../call.ts';
import { type Arrival, enter, type Gateway, passThrough } from '../../gateway/pipeline.ts';
import { readBytes } from '../http/body-bytes.ts';
import type { Exchange, Mount, Reply } from '../http/mount.ts';
import { ratedSender } from '../http/rated-sender.ts';
import { recordTag } from '../http/record-tag.ts';
import { callFacts } from '../http/request-headers.ts';
import { standingHeaders } from '../http/standing-headers.ts';
import { type Files, once, packed, serving } from '../http/static-file.ts';
import { versionHeaders } from '../http/version-headers.ts';
import type { BodyParts } from '../input/json-body.ts';
import { type MessageBinding, messageBinding, receiveMessage } from '../input/message-input.ts';
import { operationAsked, versionOf } from './action.ts';
import { answerXml } from './answer-writer.ts';
import { type ByElement, readMessage, type SoapMessage } from './envelope.ts';
import { faultReply, MEDIA_TYPES } from './faults.ts';

export interface SoapOptions {
  readonly gateway: Gateway;
  readonly bodies: BodyParts;
  readonly isTls: boolean;
  /** Where callers reach the service, without a slash at the end. */
  readonly publicUrl: () => string;
}

interface Operations {
  readonly byElement: ByElement;
  readonly byAction: ReadonlyMap<string, SoapOperation>;
  readonly bindings: ReadonlyMap<SoapOperation, MessageBinding>;
}

export function createSoapMount(options: SoapOptions): Mount {
  const { gateway, isTls } = options;
  const operations = once(() => prepare(gateway));
  const describe = serving(descriptionOf(options));
  return {
    prefix: SOAP_PATH,
    load: operations,
    standingHeaders: standingHeaders(isTls),
    async handle(exchange) {
      const { request, path, queryText } = exchange;
      const { method = '' } = request;
      if (method === 'GET' || method === 'HEAD')
        return describe({ request, path: /^wsdl$/i.test(queryText) ? WSDL : path });
      if (path !== SOAP_PATH || method !== 'POST')
        throw new AuditError('ROUTE_NOT_FOUND', `There is no ${method} ${path.slice(0, 200)}.`);
      return answered(exchange, await operations(), options);
    },
    refuse(error, place) {
      // It is an exchange, but for what is no HTTP at all.
      const request = 'request' in place ? (place as Exchange).request : undefined;
      const reply = faultReply(versionOf(request?.headers ?? {}), error, place, gateway.clock.now());
      const isMessage = request?.method === 'POST' && place.path === SOAP_PATH;
      return error.code === 'ROUTE_NOT_FOUND' && !isMessage ? { ...reply, status: 404 } : reply;
    },
  };
}

const WSDL = `${SOAP_PATH}/tallystick.wsdl`;
const XML_TYPE = 'text/xml; charset=utf-8';

function descriptionOf({ publicUrl }: SoapOptions): Files {
  return new Map([
    [WSDL, once(() => packed(XML_TYPE, soapWsdl(publicUrl())))],
    [`${SOAP_PATH}/tallystick.xsd`, once(() => packed(XML_TYPE, soapXsd()))],
  ]);
}

/** Made at the first request: it takes longer than a start may. */
function prepare(gateway: Gateway): Operations {
  const bound = soapOperations().filter(({ operation }) => gateway.operations[operation.name] !== undefined);
  return {
    byElement: new Map(bound.map((each) => [each.name, each])),
    byAction: new Map(bound.map((each) => [each.action, each])),
    bindings: new Map(bound.map((each) => [each, messageBinding(each.operation)])),
  };
}

async function answered(exchange: Exchange, operations: Operations, options: SoapOptions): Promise<Reply> {
  const { gateway } = options;
  const { request, correlation, path } = exchange;
  exchange.addedHeaders = {
    ...exchange.addedHeaders,
    ...versionHeaders(SOAP_VERSION, gateway.versionStates),
  };
  const asked = operationAsked(request.headers, operations.byAction);
  const entrance = {
    ...callFacts(exchange),
    version: SOAP_VERSION,
    correlation,
    sender: ratedSender(exchange, gateway.clock),
  } as const;
  const read = new MessageSource(exchange, operations, options);
  let operation = asked;
  let entered: Arrival['entered'];
  if (operation === undefined) {
    entered = await enter(entrance, gateway);
    const message = await read.message(entered.caller.identity, LIMITS.requestBytesMax);
    operation = message.operation;
  }
  exchange.served = { operation: operation.operation.name, route: path };
  const answer = await passThrough(
    {
      ...entrance,
      ...(entered !== undefined && { entered }),
      operation: operation.operation,
      addressedTenant: undefined,
      path,
      // Known once the message is read; the gateway asks for it after that.
      get idempotencyKey() {
        return read.idempotencyKey;
      },
      receive: (sender, onSent) => read.received(operation, sender, onSent),
    },
    gateway,
  );
  const { correlationId } = correlation;
  const version = versionOf(request.headers);
  const shown = {
    kind: answer.kind,
    body: answer.body,
    etag: recordTag(operation.operation, answer),
    correlationId,
  };
  return {
    status: 200,
    headers: { 'Content-Type': MEDIA_TYPES[version] },
    body: answerXml(version, operation, shown),
    coding: undefined,
  };
}

/** The message of a request, which is read once. */
class MessageSource {
  idempotencyKey: string | undefined;
  readonly #exchange: Exchange;
  readonly #operations: Operations;
  readonly #parts: BodyParts;
  #message: SoapMessage | undefined;

  constructor(exchange: Exchange, operations: Operations, { bodies }: SoapOptions) {
    this.#exchange = exchange;
    this.#operations = operations;
    this.#parts = bodies;
  }

  async message(sender: string, bytesMax: number, onSent?: (spanNs: number) => void): Promise<SoapMessage> {
    const { request } = this.#exchange;
    const { clock, budget } = this.#parts;
    const isLarge = bytesMax > LIMITS.requestBytesMax;
    const timeoutMs = isLarge ? LIMITS.batchRequestTimeoutMs : LIMITS.requestTimeoutMs;
    const bytes = await readXmlBytes(
      readBytes({ request, sender, ...(onSent && { onSent }) }, { bytesMax, timeoutMs }, this.#parts),
    );
    const refusal = budget.take(sender, bytes.length);
    if (refusal !== undefined) throw refusal;
    try {
      const version = versionOf(request.headers);
      const message = await readMessage(bytes, version, this.#operations.byElement, clock);
      this.idempotencyKey = keyOf(message, this.#exchange);
      this.#message = message;
      return message;
    } finally {
      budget.giveBack(sender, bytes.length);
    }
  }

  async received(asked: SoapOperation, sender: string, onSent: (spanNs: number) => void): Promise<Received> {
    const bytesMax = asked.operation.bodyBytesMax ?? LIMITS.requestBytesMax;
    const message = this.#message ?? (await this.message(sender, bytesMax, onSent));
    if (message.operation !== asked)
      throw new AuditError(
        'MALFORMED_XML',
        `The body asks for ${message.operation.name}, the action for ${asked.name}.`,
      );
    const binding = this.#operations.bindings.get(asked)!;
    const { members, body } = message;
    const isKeyed = asked.operation.idempotency === 'Key' && this.idempotencyKey !== undefined;
    const sent = { members, body, address: `${SOAP_PATH} ${asked.name}` };
    return receiveMessage(binding, sent, sender, isKeyed, this.#parts);
  }
}

/** The key may stand in the header of the message: a generated client sets headers of HTTP for all its calls. */
function keyOf({ idempotencyKey }: SoapMessage, exchange: Exchange): string | undefined {
  const inHttp = callFacts(exchange).idempotencyKey;
  if (idempotencyKey !== undefined && inHttp !== undefined && idempotencyKey !== inHttp) {
    const message = 'The header Idempotency-Key and idempotencyKey of the message are not the same.';
    throw new AuditError('INVALID_HEADER', message);
  }
  return idempotencyKey ?? inHttp;
}

/** What is broken off or badly compressed is no JSON here. */
async function readXmlBytes(reading: Uint8Array | Promise<Uint8Array>): Promise<Uint8Array> {
  try {
    return await reading;
  } catch (error) {
    if (error instanceof AuditError && error.code === 'MALFORMED_JSON')
      throw new AuditError('MALFORMED_XML', error.message);
    throw error;
  }
}
