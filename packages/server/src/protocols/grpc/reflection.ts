// Server reflection, by which tools such as grpcurl and `buf curl` learn what can be called: grpc.reflection.v1, and v1alpha, which
// is the same under another name. It shows what is published anyway, the `.proto` files, and needs no credential as the
// documentation of REST needs none.

import { AuditError, VERSIONS } from '@tallystick/contract';
import type { Exchange } from '../http/mount.ts';
import { type FileDescriptor, filesOf } from '../protobuf/descriptors.ts';
import { WIRE, WireReader } from '../protobuf/reader.ts';
import { interfaceOf } from '../protobuf/wire-form.ts';
import { BYTES, VARINT, WireWriter } from '../protobuf/writer.ts';
import type { CallParts } from './call.ts';
import { NOT_FOUND } from './error-status.ts';
import { type CallForm, encodingOf } from './form.ts';
import { unpacked } from './frames.ts';
import { servedServices } from './health.ts';
import { KNOWN_FILES } from './known-files.ts';
import { beginLasting, lastingReply } from './lasting-reply.ts';
import type { CallReply } from './reply.ts';
import { sentFrames } from './sent-frames.ts';

export const REFLECTIONS: ReadonlySet<string> = new Set(
  ['v1', 'v1alpha'].map((version) => `/grpc.reflection.${version}.ServerReflection/ServerReflectionInfo`),
);

const REQUEST_BYTES_MAX = 4096;
const STILL_MS = 60_000;

// Fields of ServerReflectionRequest.
const HOST = 1;
const BY_FILE_NAME = 3;
const BY_SYMBOL = 4;
const LIST_SERVICES = 7;
// Of ServerReflectionResponse.
const ORIGINAL = 2;
const FILES = 4;
const SERVICES = 6;
const ERROR = 7;

export function reflection(exchange: Exchange, form: CallForm, parts: CallParts): CallReply {
  if (form.codec !== 'Proto')
    throw new AuditError('UNSUPPORTED_MEDIA_TYPE', 'Reflection is answered as application/grpc+proto.');
  const { request } = exchange;
  const sender = exchange.partition();
  const lasting = beginLasting(exchange, sender, parts.strangers, parts);
  const limits = { bytesMax: REQUEST_BYTES_MAX, stillMs: STILL_MS, stop: lasting.answer.signal };
  const answers = async function* () {
    for await (const frame of sentFrames(request, sender, limits, parts.bodies))
      yield answerTo(await unpacked(frame, encodingOf(request.headers), REQUEST_BYTES_MAX));
  };
  return lastingReply(exchange, form, lasting, answers(), parts);
}

function answerTo(request: Uint8Array): Uint8Array {
  const { host, field, text } = asked(request);
  const writer = new WireWriter().tag(HOST, BYTES).text(host).tag(ORIGINAL, BYTES).bytes(request);
  const { files, services } = shownFiles();
  if (field === LIST_SERVICES)
    return writer
      .tag(SERVICES, BYTES)
      .message(() => {
        for (const name of services) writer.tag(1, BYTES).message(() => writer.tag(1, BYTES).text(name));
      })
      .finish();
  const found = files.find(
    (file) => (field === BY_FILE_NAME && file.name === text) || (field === BY_SYMBOL && declares(file, text)),
  );
  if (found === undefined)
    return writer
      .tag(ERROR, BYTES)
      .message(() => writer.tag(1, VARINT).varint(NOT_FOUND.number).tag(2, BYTES).text(`not found: ${text}`))
      .finish();
  return writer
    .tag(FILES, BYTES)
    .message(() => withNeeds(found, files).forEach(({ bytes }) => writer.tag(1, BYTES).bytes(bytes)))
    .finish();
}

interface Asked {
  readonly host: string;
  /** 0: nothing. */
  readonly field: number;
  readonly text: string;
}

function asked(request: Uint8Array): Asked {
  const reader = new WireReader(request);
  let [host, field, text] = ['', 0, ''];
  while (reader.pos < reader.end) {
    const tag = reader.tag();
    // There are no extensions, so that nobody has to be understood who asks for some.
    if ((tag & 7) !== WIRE.Bytes) reader.pass(tag);
    else if (tag >>> 3 === HOST) host = reader.nextText();
    else {
      field = tag >>> 3;
      const end = reader.span();
      text = field === BY_FILE_NAME || field === BY_SYMBOL ? reader.text(reader.pos, end) : '';
      reader.pos = end;
    }
  }
  return { host, field, text };
}

/** Of a method, or of what is inside a message, too. */
function declares({ symbols }: FileDescriptor, name: string): boolean {
  return symbols.some((symbol) => name === symbol || name.startsWith(`${symbol}.`));
}

/** What a file needs comes before it. */
function withNeeds(file: FileDescriptor, files: readonly FileDescriptor[]): FileDescriptor[] {
  const needed = file.needs.flatMap((name) => files.filter((each) => each.name === name));
  return [...new Set([...needed.flatMap((each) => withNeeds(each, files)), file])];
}

interface Shown {
  readonly files: readonly FileDescriptor[];
  readonly services: readonly string[];
}

let shown: Shown | undefined;

/** Made for the first who asks. */
function shownFiles(): Shown {
  shown ??= {
    files: [...VERSIONS.flatMap((version) => filesOf(interfaceOf(version))), ...KNOWN_FILES],
    services: servedServices(),
  };
  return shown;
}
