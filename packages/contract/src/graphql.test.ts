// The schema of GraphQL is sound, whole and the same as the contract: parsed by the library that serves it.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { buildSchema, type GraphQLObjectType, isObjectType, parse, validate, validateSchema } from 'graphql';
import { DEPRECATED, LINKS } from './graphql/links.ts';
import { graphqlFields, sdlOf } from './graphql/sdl.ts';
import { graphqlRoot } from './names/graphql.ts';
import { operationNamed } from './operations.ts';
import { asJson, VERSIONS } from './schema.ts';

for (const version of VERSIONS) {
  const schema = buildSchema(sdlOf(version));
  const roots = { Query: schema.getQueryType()!, Mutation: schema.getMutationType()! };

  test(`${version}: the schema is valid, and has a field for each operation that is offered`, () => {
    assert.deepEqual(validateSchema(schema), []);
    const fields = [...graphqlFields(version)];
    for (const [name, operation] of fields) {
      const field = roots[graphqlRoot(operation)].getFields()[name];
      const required = field?.args.filter(({ type }) => String(type).endsWith('!')).map((arg) => arg.name);
      assert.deepEqual(required, asJson(operation.input).required ?? [], name);
    }
    const count = Object.values(roots).flatMap((root) => Object.keys(root.getFields())).length;
    assert.equal(count, fields.length);
  });

  test(`${version}: no argument has a default, and every root field may be null`, () => {
    for (const root of Object.values(roots)) {
      for (const { name, type, args } of Object.values(root.getFields())) {
        assert.ok(!String(type).endsWith('!'), name);
        for (const arg of args) assert.equal(arg.defaultValue, undefined, `${name}(${arg.name})`);
      }
    }
  });

  test(`${version}: links ask for what their parent knows, and what they stand for is deprecated`, () => {
    const typeNamed = (name: string) => {
      const type = schema.getType(name);
      assert.ok(isObjectType(type), name);
      return (type satisfies GraphQLObjectType).getFields();
    };
    for (const [parent, links] of Object.entries(LINKS[version] ?? {})) {
      const fields = typeNamed(parent);
      for (const { name, type, operation, input } of links) {
        assert.equal(String(fields[name]!.type), type);
        const asked = operationNamed(operation);
        assert.equal(asked.effect, 'Read');
        assert.deepEqual(Object.keys(input), asJson(asked.input).required ?? []);
        for (const member of Object.values(input)) assert.ok(member in fields, `${parent}.${member}`);
      }
    }
    for (const [place, reason] of Object.entries(DEPRECATED[version] ?? {})) {
      const [parent = '', name = ''] = place.split('.');
      assert.equal(typeNamed(parent)[name]?.deprecationReason, reason, place);
    }
  });
}

test('an event is asked for by its members, whichever shape it has, and each shape alone by fragments', () => {
  const schema = buildSchema(sdlOf('v2'));
  for (const query of [
    '{ event(eventId: "a") { eventId action payload purgedAt } }',
    '{ event(eventId: "a") { eventId ... on Tombstone { purgedAt } ...f } events { nodes { ...f } } } fragment f on AuditEvent { action }',
    '{ streamEvents(streamId: "a") { nodes { sequence action withheld } } }',
    'subscription { logGrew { sequence action actor { userId } withheld } }',
  ])
    assert.deepEqual(validate(schema, parse(query)), [], query);
  const typesOf = (type: string) => (schema.getType(type) as GraphQLObjectType).getFields();
  assert.equal(String(typesOf('AuditEvent')['action']!.type), 'String!');
  assert.equal(String(typesOf('StoredEvent')['action']!.type), 'String');
  assert.equal(String(typesOf('StoredEvent')['eventId']!.type), 'ID!');
  assert.equal(typesOf('StreamEvent')['purgedAt'], undefined);
});

test('what is sent has types of its own, and a union of shapes is one of them', () => {
  const text = sdlOf('v1');
  assert.match(text, /\binput EventDraftInput \{/);
  assert.match(text, /"Must be Download, or Sftp, or ObjectStorage\."\n {2}type: String!/);
});
