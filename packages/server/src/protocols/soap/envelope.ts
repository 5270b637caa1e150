// Reads an envelope of SOAP 1.1 or 1.2: its header, of which only our own block `Call` is understood, and the one element of
// its body, which is the operation.

import { AuditError } from '@tallystick/contract';
import { SOAP_NAMESPACE, type SoapOperation } from '@tallystick/contract/soap';
import { parseJson } from '@tallystick/evidence';
import { pausesBy } from '../../runtime/pause.ts';
import type { Clock } from '../../runtime/clock.ts';
import { MessageReader } from './message-reader.ts';
import { ENVELOPE_NAMESPACES, SoapFault, type SoapVersion } from './soap-fault.ts';
import { type XmlAttribute, type XmlName, type XmlReader, XmlScanner } from './xml/scan.ts';

export interface SoapMessage {
  readonly operation: SoapOperation;
  readonly members: Readonly<Record<string, unknown>>;
  /** The JSON text of the member that REST sends as the body. */
  readonly body: Buffer | undefined;
  readonly idempotencyKey: string | undefined;
}

/** Operations by the element of their request. */
export type ByElement = ReadonlyMap<string, SoapOperation>;

/** Others have their turns in between. */
export async function readMessage(
  bytes: Uint8Array,
  version: SoapVersion,
  operations: ByElement,
  clock: Clock,
): Promise<SoapMessage> {
  const reader = new EnvelopeReader(version, operations, (what) => scanner.malformed(what));
  const scanner = new XmlScanner(bytes, reader);
  const pause = pausesBy(clock);
  for (let steps = 1; scanner.step(); steps++) if (steps % STEPS_AT_ONCE === 0) await pause();
  return reader.message();
}

const STEPS_AT_ONCE = 16;
const NEXT: readonly string[] = [
  'http://schemas.xmlsoap.org/soap/actor/next',
  `${ENVELOPE_NAMESPACES['1.2']}/role/next`,
  `${ENVELOPE_NAMESPACES['1.2']}/role/ultimateReceiver`,
  '',
];
const SECURITY = 'a wsse:Security header; send Authorization or X-API-Key as a header of HTTP, over TLS';
const NAMED_MAX = 10;

type Place = 'Document' | 'Envelope' | 'Header' | 'Body';

class EnvelopeReader implements XmlReader {
  readonly #version: SoapVersion;
  readonly #operations: ByElement;
  readonly #malformed: (what: string) => AuditError;
  readonly #notUnderstood: XmlName[] = [];
  #place: Place = 'Document';
  #hasBody = false;
  #hasHeader = false;
  /** How deep inside a block of the header, or inside the operation. */
  #inside = 0;
  #hasCall = false;
  #idempotencyKey: string | undefined;
  #operation: SoapOperation | undefined;
  #reader: MessageReader | undefined;

  constructor(version: SoapVersion, operations: ByElement, malformed: (what: string) => AuditError) {
    this.#version = version;
    this.#operations = operations;
    this.#malformed = malformed;
  }

  message(): SoapMessage {
    const [operation, reader] = [this.#operation, this.#reader];
    if (operation === undefined || reader === undefined) throw this.#malformed('the body has no operation');
    const { body: bodyMember } = operation.operation.rest;
    const texts = [...reader.members];
    const body = bodyMember === undefined ? undefined : reader.members.get(bodyMember);
    return {
      operation,
      members: Object.fromEntries(
        texts.filter(([name]) => name !== bodyMember).map(([name, text]) => [name, parseJson(text)]),
      ),
      body: body === undefined || body === 'null' ? undefined : Buffer.from(body),
      idempotencyKey: this.#idempotencyKey,
    };
  }

  start(name: XmlName, attributes: readonly XmlAttribute[]): void {
    if (this.#inside > 0) {
      this.#inside += 1;
      if (this.#place === 'Body') this.#reader!.start(name, attributes);
      return;
    }
    if (this.#place === 'Document') this.#startEnvelope(name);
    else if (this.#place === 'Envelope') this.#startPart(name);
    else if (this.#place === 'Header') this.#startBlock(name, attributes);
    else this.#startOperation(name, attributes);
  }

  text(piece: string): void {
    if (this.#inside > 0) {
      if (this.#place === 'Body') this.#reader!.text(piece);
    } else if (/[^\t\n\r ]/.test(piece)) throw this.#malformed(`there is text in the ${this.#place}`);
  }

  end(): void {
    if (this.#inside > 0) {
      this.#inside -= 1;
      if (this.#place === 'Body') this.#reader!.end();
    } else if (this.#place === 'Envelope') this.#place = 'Document';
    else {
      if (this.#place === 'Header') this.#checkUnderstood();
      this.#place = 'Envelope';
    }
  }

  #startEnvelope({ namespace, local }: XmlName): void {
    if (local !== 'Envelope') throw this.#malformed(`<${local}> is no envelope`);
    if (namespace !== ENVELOPE_NAMESPACES[this.#version]) {
      const message = `The envelope is in the namespace '${namespace.slice(0, 100)}'; by its Content-Type it is of SOAP ${this.#version}.`;
      throw new SoapFault('VersionMismatch', message);
    }
    this.#place = 'Envelope';
  }

  #startPart({ namespace, local }: XmlName): void {
    const isOurs = namespace === ENVELOPE_NAMESPACES[this.#version];
    if (isOurs && local === 'Header' && !this.#hasHeader && !this.#hasBody) {
      this.#hasHeader = true;
      this.#place = 'Header';
    } else if (isOurs && local === 'Body' && !this.#hasBody) {
      this.#hasBody = true;
      this.#place = 'Body';
    } else throw this.#malformed(`<${local}> stands where the header or the body of an envelope belongs`);
  }

  #startBlock(name: XmlName, attributes: readonly XmlAttribute[]): void {
    this.#inside = 1;
    if (name.namespace === SOAP_NAMESPACE && name.local === 'Call') {
      if (this.#hasCall) throw this.#malformed('the header has a second <Call>');
      this.#hasCall = true;
      this.#idempotencyKey = attributes.find(({ local }) => local === 'idempotencyKey')?.value;
      return;
    }
    const ofSoap = attributes.filter((each) => each.namespace === ENVELOPE_NAMESPACES[this.#version]);
    const valueOf = (local: string) => ofSoap.find((each) => each.local === local)?.value.trim();
    const isForUs = NEXT.includes(valueOf(this.#version === '1.1' ? 'actor' : 'role') ?? '');
    if (
      isForUs &&
      /^(?:1|true)$/.test(valueOf('mustUnderstand') ?? '') &&
      this.#notUnderstood.length < NAMED_MAX
    )
      this.#notUnderstood.push(name);
  }

  #checkUnderstood(): void {
    const [first] = this.#notUnderstood;
    if (first === undefined) return;
    const what = /\/oasis-200401-wss-/.test(first.namespace) ? SECURITY : `the header ${first.local}`;
    throw new SoapFault('MustUnderstand', `The service does not understand ${what}.`, this.#notUnderstood);
  }

  #startOperation({ namespace, local }: XmlName, attributes: readonly XmlAttribute[]): void {
    if (this.#operation !== undefined) throw this.#malformed('the body has a second element');
    const operation = namespace === SOAP_NAMESPACE ? this.#operations.get(local) : undefined;
    if (operation === undefined) {
      const message = `There is no operation <${local}> in the namespace '${namespace.slice(0, 100)}'; ours is ${SOAP_NAMESPACE}.`;
      throw new AuditError('ROUTE_NOT_FOUND', message);
    }
    if (attributes.some((each) => each.namespace === ''))
      throw this.#malformed(`<${local}> has an attribute, which nothing has here`);
    this.#operation = operation;
    this.#reader = new MessageReader(local, operation.request, this.#malformed);
    this.#inside = 1;
  }
}
