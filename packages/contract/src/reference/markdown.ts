// Small pieces of Markdown, and how a schema is said in a few words.

import type { Operation } from '../operation.ts';
import type { JsonSchema } from '../schema.ts';

export const code = (text: string): string => `\`${text}\``;
export const link = (text: string, target: string): string => `[${text}](${target})`;
export const anchor = (name: string): string => `<a id="${name}"></a>`;

/** In REST. */
export const prefix = ({ rest }: Operation): string => (rest.atRoot ? '' : '/api/v1');
export const route = (each: Operation): string => `${each.rest.method} ${prefix(each)}${each.rest.path}`;

/** A bar ends a cell even inside code, so it is escaped everywhere. */
const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('\n', ' ');

export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.map(cell).join(' | ')} |`;
  return [line(head), `|${head.map(() => '---').join('|')}|`, ...rows.map(line)].join('\n');
}

/** A page: title, where it comes from, introduction, sections. */
export function page(title: string, introduction: string, sections: readonly string[]): string {
  const origin =
    '<!-- Written by packages/contract/src/reference.test.ts from the contract itself; edit that instead. -->';
  return `${[origin, `# ${title}`, introduction, ...sections].join('\n\n')}\n`;
}

/** The anchor that Markdown renderers give to a heading. */
export const headingAnchor = (heading: string): string =>
  `#${heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-')}`;

/** The type of a schema; components are links into the page of schemas. */
export function typeText(schema: JsonSchema, schemasPage: string): string {
  const inner = (one: JsonSchema) => typeText(one, schemasPage);
  if (schema.title !== undefined) return link(schema.title, `${schemasPage}#${schema.title.toLowerCase()}`);
  if (schema.anyOf)
    return schema.anyOf.map((one) => (one.type === 'null' ? 'null' : inner(one))).join(' or ');
  if (schema.const !== undefined) return code(schema.const);
  if (schema.type === 'array') return `list of ${schema.items ? inner(schema.items) : 'anything'}`;
  if (schema.type === 'object') {
    return typeof schema.additionalProperties === 'object'
      ? `map to ${inner(schema.additionalProperties)}`
      : 'object';
  }
  return schema.format === undefined ? (schema.type ?? 'anything') : `${schema.type} (${schema.format})`;
}

/** The rules of a schema that its type does not say, and what it is for. */
export function rulesText(schema: JsonSchema): string {
  const rules = [
    rangeText(schema.minLength, schema.maxLength, 'characters'),
    rangeText(schema.minItems, schema.maxItems, 'items'),
    rangeText(schema.minimum, schema.maximum, ''),
    schema.pattern === undefined || schema.format === 'ulid' ? '' : code(schema.pattern),
    schema.default === undefined ? '' : `default ${code(JSON.stringify(schema.default))}`,
    schema['x-added-in'] === undefined ? '' : `since ${schema['x-added-in']}`,
  ].filter((rule) => rule !== '');
  const parts = [
    schema['x-use'] ?? schema.description ?? '',
    rules.length === 0 ? '' : `(${rules.join(', ')})`,
  ];
  return parts.filter((part) => part !== '').join(' ');
}

function rangeText(least: number | undefined, most: number | undefined, unit: string): string {
  if (least === undefined && most === undefined) return '';
  if (most === undefined) return least === 0 ? '' : `at least ${least} ${unit}`.trim();
  if (least === undefined) return `at most ${most} ${unit}`.trim();
  return (least === most ? `${least} ${unit}` : `${least} to ${most} ${unit}`).trim();
}
