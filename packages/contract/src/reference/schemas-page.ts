// The page of schemas: every component that a request, an answer or a notification is made of.

import type { TSchema } from 'typebox';
import { OPERATIONS } from '../operations.ts';
import type { JsonSchema } from '../schema.ts';
import { componentsOf } from '../schema-walk.ts';
import { ErrorBody } from '../schemas/error.ts';
import { PageLinks, Pagination } from '../schemas/list.ts';
import { Notification, NotificationHeaders } from '../schemas/notification.ts';
import { code, page, rulesText, table, typeText } from './markdown.ts';

/** Every schema that is sent or answered, apart from the inputs themselves, which the page of operations has. */
export function publicSchemas(): TSchema[] {
  const inputs = OPERATIONS.flatMap(({ input }) => Object.values(input.properties));
  const outputs = OPERATIONS.flatMap(({ output }) =>
    output.kind === 'Json' ? [output.schema] : output.kind === 'List' ? [output.item] : [],
  );
  return [...inputs, ...outputs, ErrorBody, Pagination, PageLinks, Notification, NotificationHeaders];
}

function contentOf(schema: JsonSchema): string {
  if (schema.enum) return `One of ${schema.enum.map(code).join(', ')}.`;
  const branches = schema.oneOf ?? schema.anyOf;
  if (branches) {
    const tag = schema.discriminator ? `, told apart by ${code(schema.discriminator.propertyName)}` : '';
    return `One of ${branches.map((branch) => typeText(branch, '')).join(', ')}${tag}.`;
  }
  if (!schema.properties) return schema.items ? `A list: ${rulesText({ ...schema, 'x-use': '' })}.` : '';
  const isRequired = (name: string) => schema.required?.includes(name) === true;
  const rows = Object.entries(schema.properties).map(([name, member]) => [
    code(name) + (isRequired(name) ? '' : ' (optional)'),
    typeText(member, ''),
    rulesText(member),
  ]);
  const note = schema.additionalProperties === false ? '\n\nOther members are refused.' : '';
  return table(['member', 'type', 'rules'], rows) + note;
}

export function schemasPage(): string {
  const components = [...componentsOf(publicSchemas())].sort(([a], [b]) => (a < b ? -1 : 1));
  const sections = components.map(([title, schema]) => {
    const description = schema.description ?? '';
    return [`## ${title}`, description.trim(), contentOf(schema)].filter((part) => part !== '').join('\n\n');
  });
  const introduction = `The ${components.length} named shapes of requests, answers and notifications; their names are the same in every
protocol. Instants are UTC in ISO 8601, durations are ISO 8601 (\`P7Y\`), identifiers are ULIDs unless said otherwise.
\`null\` in an optional member of a request means absent; absent members are left out of answers.`;
  return page('Schemas', introduction, sections);
}
