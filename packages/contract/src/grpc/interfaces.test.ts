// Numbers of fields are given once, whatever becomes of the schemas, and the comparer sees what breaks clients.

import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { VERSIONS } from '../schema.ts';
import { FIELD_NUMBERS } from './field-numbers.ts';
import { FieldNumbers } from './numbers.ts';
import { NULL_MEMBERS, Plans, snakeCase } from './plan.ts';
import { enumValueName, protoBreaks, servicesProto, typesProto } from './proto-text.ts';
import { completedNumbers, grpcInterface } from './services.ts';

const path = new URL('field-numbers.ts', import.meta.url);

describe('the numbers of fields', () => {
  it('are all in the table (UPDATE_REFERENCE=1 appends the new ones)', () => {
    const text = completedNumbers().toText();
    if (process.env['UPDATE_REFERENCE'] === '1') {
      const file = readFileSync(path, 'utf8');
      writeFileSync(path, `${file.slice(0, file.indexOf(' = `') + 4)}\n${text}\`;\n`);
    } else assert.ok(`\n${text}` === FIELD_NUMBERS, 'npm run docs appends what is new');
  });

  it('of removed members are reserved by hand, and no number is given twice', () => {
    const table = completedNumbers();
    const used = new Set<string>();
    for (const version of VERSIONS) {
      const { plans } = grpcInterface(version, new Plans(completedNumbers()));
      for (const { name, fields } of plans.messages.values())
        for (const field of fields) used.add(`${name}.${field.name}`);
      for (const { name, words } of plans.enums.values())
        for (const word of words.keys()) used.add(`${name}.${word}`);
    }
    for (const name of table.names()) {
      const members = table.membersOf(name);
      for (const member of members.keys())
        assert.ok(
          used.has(`${name}.${member}`),
          `${name}.${member} is gone: move it to a line "reserved ${name}: …"`,
        );
      const numbers = [...members.values(), ...table.reservedOf(name).values()];
      assert.equal(new Set(numbers).size, numbers.length, `${name} has a number twice`);
    }
  });

  it('go on where the table ends, also behind what is reserved', () => {
    const numbers = new FieldNumbers('A: one 1, two 2\nreserved A: three 7\nenum B: X 1\n');
    assert.deepEqual([numbers.numberOf('A', 'two'), numbers.numberOf('A', 'four')], [2, 8]);
    assert.throws(() => numbers.numberOf('A', 'three'), /was removed/);
    assert.equal(numbers.toText(), 'A: one 1, two 2, four 8\nenum B: X 1\nreserved A: three 7\n');
  });
});

describe('plans', () => {
  it('name fields so that their names in JSON are those of the contract', () => {
    const jsonName = (name: string) => name.replaceAll(/_(.)/g, (_, letter: string) => letter.toUpperCase());
    for (const version of VERSIONS) {
      const { plans } = grpcInterface(version);
      for (const { name, fields } of plans.messages.values()) {
        for (const field of fields) assert.equal(jsonName(field.protoName), field.name, name);
        assert.equal(new Set(fields.map(({ protoName }) => protoName)).size, fields.length, name);
      }
      for (const { name, words } of plans.enums.values()) {
        const names = [...words.keys()].map((word) => enumValueName(name, word));
        assert.equal(new Set(names).size, words.size, name);
      }
    }
    assert.equal(snakeCase('dnsMs'), 'dns_ms');
  });

  it('have a way to say null only where it means something', () => {
    const { plans } = grpcInterface('v2');
    const withNull = [...plans.messages.values()].filter(({ fields }) =>
      fields.some(({ name }) => name === NULL_MEMBERS),
    );
    assert.deepEqual(withNull.map(({ name }) => name).toSorted(), [
      'RetryPatch',
      'SubscriptionPatch',
      'TenantSettings',
      'TlsPatch',
    ]);
  });

  it('give v2 the numbers of v1', () => {
    const [v1, v2] = VERSIONS.map((version) => grpcInterface(version).plans.messages);
    for (const { name, fields } of v1!.values())
      for (const { name: member, number } of fields)
        assert.equal(v2!.get(name)?.fields.find((each) => each.name === member)?.number, number, name);
  });
});

describe('the comparer of .proto files', () => {
  const text = `package a;
message M {
  reserved 4;
  reserved "gone";
  optional string one = 1;
  oneof form {
    // A comment.
    string two = 2;
    int64 three = 3;
  }
}
enum E {
  E_UNSPECIFIED = 0;
  E_A = 1;
}
message Empty {}
service S {
  rpc Get(M) returns (Empty) {
    option idempotency_level = NO_SIDE_EFFECTS;
  }
  rpc Put(M) returns (Empty);
}
`;

  it('finds each change that breaks clients', () => {
    const changes: [from: string, to: string, finding: RegExp][] = [
      ['one = 1', 'one = 5', /^M.one was optional string = 1 and is optional string = 5$/],
      ['optional string one', 'repeated string one', /^M.one was/],
      ['one = 1', 'uno = 1', /^M.one is gone$/],
      ['int64 three', 'int32 three', /^M.three was/],
      ['    int64 three = 3;\n  }', '  }\n    int64 three = 3;', /^M.three was int64 = 3 in form/],
      ['  E_A = 1;\n', '', /^E.E_A is gone$/],
      ['  reserved "gone";\n', '', /^M reserves "gone" no more$/],
      ['message Empty {}\n', '', /^Empty is gone$/],
      ['Put(M)', 'Put(Empty)', /^S.Put was/],
      ['  rpc Put(M) returns (Empty);\n', '', /^S.Put is gone$/],
    ];
    for (const [from, to, finding] of changes) {
      const [broken = '', ...others] = protoBreaks(text, text.replace(from, to));
      assert.match(broken, finding);
      assert.deepEqual(others, [], from);
    }
  });

  it('lets members come, and go into the reserve', () => {
    assert.deepEqual(protoBreaks(text, text), []);
    assert.deepEqual(protoBreaks(text, text.replace('  oneof', '  repeated string more = 9;\n  oneof')), []);
    const reserved = text
      .replace('  optional string one = 1;\n', '')
      .replace('reserved 4;', 'reserved 4, 1;')
      .replace('reserved "gone";', 'reserved "gone", "one";');
    assert.deepEqual(protoBreaks(text, reserved), []);
  });

  it('reads all that is written', () => {
    for (const write of [typesProto, servicesProto]) {
      const whole = write('v2');
      const lines = whole
        .split('\n')
        .filter((line) => /^ +(optional|repeated|rpc|map|\w+\.?\w*) .*[;{]$/.test(line));
      for (const line of lines.filter((each) => !/option |oneof /.test(each)).slice(0, 60))
        assert.notDeepEqual(protoBreaks(whole, whole.replace(`${line}\n`, '')), [], line);
    }
  });
});
