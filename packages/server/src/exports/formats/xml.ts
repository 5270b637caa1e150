// XML: an element for each member. Context and payload are JSON texts, since their keys need not be names of elements. XML forbids
// some characters even as references: a text that has one is in base64.

import type { AuditEvent } from '@tallystick/contract';
import { writeJson } from '../../written-json.ts';
import type { Format } from './format.ts';

/** All but the characters of XML 1.0; half of a surrogate pair is none. */
// oxlint-disable-next-line no-control-regex
const FORBIDDEN = /[^\t\n\r\u{20}-\u{D7FF}\u{E000}-\u{FFFD}\u{10000}-\u{10FFFF}]/u;
const TO_ESCAPE = /[&<>\r]/g;
const REFERENCES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '\r': '&#13;',
};

const AS_JSON: readonly string[] = ['context', 'payload'];

export const XML: Format = {
  extension: 'xml',
  mediaType: 'application/xml',
  begin: '<?xml version="1.0" encoding="UTF-8"?>\n<events>\n',
  between: '',
  end: '</events>\n',
  write: (event: AuditEvent) => `<event>${members(event)}</event>\n`,
};

function members(value: object): string {
  let text = '';
  for (const [name, member] of Object.entries(value)) {
    if (member === undefined) continue;
    text += AS_JSON.includes(name) ? leaf(name, writeJson(member)) : element(name, member);
  }
  return text;
}

function element(name: string, value: unknown): string {
  // The names of redacted fields are the only list.
  if (Array.isArray(value))
    return `<${name}>${value.map((each) => element('field', each)).join('')}</${name}>`;
  if (typeof value === 'object' && value !== null) return `<${name}>${members(value)}</${name}>`;
  return leaf(name, String(value));
}

function leaf(name: string, text: string): string {
  if (FORBIDDEN.test(text))
    return `<${name} encoding="base64">${Buffer.from(text).toString('base64')}</${name}>`;
  return `<${name}>${text.replace(TO_ESCAPE, (each) => REFERENCES[each]!)}</${name}>`;
}
