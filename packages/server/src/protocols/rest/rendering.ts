// Renders an answer: as JSON, as a page in its envelope with links, as bytes, or in another form that the operation
// offers and the caller prefers.

import type { ByteAnswer, Operation, OperationName, Page } from '@tallystick/contract';
import type { AnyAnswer } from '../../operations.ts';
import { writeJson } from '../../written-json.ts';
import { ByteStream } from '../http/byte-stream.ts';
import type { Target } from '../http/target.ts';
import { preferredType } from '../http/accept.ts';
import { dispositionOf } from './answer-headers.ts';
import { linkHeader, linksOf } from './links.ts';

export const JSON_TYPE = 'application/json; charset=utf-8';

export interface Rendering {
  readonly contentType: string;
  readonly body: string | Uint8Array | ByteStream;
  /** What has to be said about this form beside what the binding asks for. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** The preferences of a request for the form of its answer. */
export interface FormPreferences extends Target {
  readonly accept: string | undefined;
}

export function render(
  answer: AnyAnswer,
  { output, rest }: Operation<OperationName>,
  preferences: FormPreferences,
): Rendering {
  if (output.kind === 'List') return renderPage(answer, preferences);
  if (output.kind === 'Bytes') return renderBytes(answer);
  if (rest.alsoAs !== undefined) return renderAsPreferred(answer, rest.alsoAs, preferences);
  return { contentType: JSON_TYPE, body: writeJson(answer.body) };
}

function renderPage({ body }: AnyAnswer, target: Target): Rendering {
  // `Operations` guarantees that an operation that lists gives a page.
  const page = body as Page<unknown>;
  const links = linksOf(target, page.pagination);
  const link = linkHeader(links);
  return {
    contentType: JSON_TYPE,
    body: writeJson({ ...page, links }),
    ...(link === undefined ? {} : { headers: { Link: link } }),
  };
}

/** Never compressed: a file is what it is, and its readers may count on its length. */
function renderBytes({ body }: AnyAnswer): Rendering {
  // `Operations` guarantees that an operation that gives bytes gives this.
  const { mediaType, bytes, byteLength, fileName } = body as ByteAnswer;
  return {
    contentType: mediaType,
    body: bytes instanceof Uint8Array ? bytes : new ByteStream(bytes, byteLength),
    ...(fileName === undefined ? {} : { headers: { 'Content-Disposition': dispositionOf(fileName) } }),
  };
}

/** JSON, unless the caller prefers another form that there is; an unknown form is no reason to refuse. */
function renderAsPreferred(
  answer: AnyAnswer,
  others: Readonly<Record<string, string>>,
  { accept }: FormPreferences,
) {
  const headers = { Vary: 'Accept' };
  const type = preferredType(accept, ['application/json', ...Object.keys(others)]);
  const make = answer.alsoAs?.[type];
  if (make === undefined) return { contentType: JSON_TYPE, body: writeJson(answer.body), headers };
  const contentType = type.startsWith('text/') ? `${type}; charset=utf-8` : type;
  return { contentType, body: make(), headers };
}
