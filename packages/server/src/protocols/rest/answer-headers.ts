// The headers of an answer that the contract's binding asks for: texts with placeholders, taken apart once, filled
// from the body, the facts of the answer or the input. A header whose placeholder has no value is left out.

import {
  type AnswerFacts,
  type Operation,
  type OperationName,
  placeholders,
  type Version,
} from '@tallystick/contract';
import { validateHeaderValue } from '../../runtime/node-http.ts';

export interface HeaderTemplate {
  readonly name: string;
  /** One more than there are members: what stands around them. */
  readonly texts: readonly string[];
  readonly members: readonly string[];
  /** A path, which then stands below the version's prefix. */
  readonly isPath: boolean;
}

/** Made of the answer itself: a name of a file may hold what no template can carry. */
const OWN: readonly string[] = ['Content-Disposition'];

export function headerTemplates({ rest }: Operation<OperationName>): HeaderTemplate[] {
  return Object.entries(rest.answerHeaders ?? {})
    .filter(([name]) => !OWN.includes(name))
    .map(([name, text]) => ({
      name,
      texts: text.split(/\{\w+\+?\}/),
      members: placeholders(text),
      isPath: name === 'Location' && rest.atRoot !== true,
    }));
}

export function fillHeaders(
  templates: readonly HeaderTemplate[],
  version: Version,
  body: unknown,
  facts: AnswerFacts | undefined,
  input: object,
): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const { name, texts, members, isPath } of templates) {
    let value = isPath ? `/api/${version}${texts[0]}` : texts[0]!;
    let isWhole = true;
    for (const [i, member] of members.entries()) {
      const known = memberOf(body, member) ?? memberOf(facts, member) ?? memberOf(input, member);
      if (known === undefined) isWhole = false;
      else value += String(known) + texts[i + 1];
    }
    if (!isWhole) continue;
    // A value that cannot be sent is our failure, to be answered as one, not the router's.
    validateHeaderValue(name, value);
    headers[name] = value;
  }
  return headers;
}

function memberOf(value: unknown, name: string): string | number | undefined {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined;
  const member = (value as Readonly<Record<string, unknown>>)[name];
  return typeof member === 'string' || typeof member === 'number' ? member : undefined;
}

/** The other characters of a name, encoded as in RFC 8187; the plain form is for clients that read only that. */
const PLAIN = /[^A-Za-z0-9 !#$&()+,.=@^_`{}~-]/gu;
const NOT_ATTRIBUTE = /[!'()*]/g;

/** `Content-Disposition` of a file to be kept under this name (RFC 6266). */
export function dispositionOf(fileName: string): string {
  const name = fileName.toWellFormed();
  const plain = name.replace(PLAIN, '_');
  if (plain === name) return `attachment; filename="${name}"`;
  const encoded = encodeURIComponent(name).replace(
    NOT_ATTRIBUTE,
    (each) => `%${each.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `attachment; filename="${plain}"; filename*=UTF-8''${encoded}`;
}
