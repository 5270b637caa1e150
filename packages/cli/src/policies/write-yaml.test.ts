import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { runs } from '../../../evidence/src/testing/size.ts';
import { printable } from '../output/printable.ts';
import { type PolicyForm, policyForm } from './policy-form.ts';
import { readYaml } from './read-yaml.ts';
import { policyYaml } from './write-yaml.ts';

const POLICY: PolicyForm = {
  name: 'Finance retention',
  description: 'Invoices.\nAnd more.',
  policyType: 'Retention',
  status: 'Active',
  priority: 100,
  rules: [
    {
      name: 'yes',
      enabled: false,
      conditions: { 'payload.amount': { gt: 1000 }, 'resource.resourceType': ['Invoice', 'Bill'] },
      effect: { retentionPeriod: 'P7Y' },
    },
  ],
};

test('a policy is written in blocks, behind a comment', () => {
  assert.deepEqual(policyYaml(POLICY, ['Version 3', 'by\nsomebody']), [
    '# Version 3',
    '# by\\u000asomebody',
    'name: Finance retention',
    'description: |-',
    '  Invoices.',
    '  And more.',
    'policyType: Retention',
    'status: Active',
    'priority: 100',
    'rules:',
    '  - name: "yes"',
    '    enabled: false',
    '    conditions:',
    '      payload.amount:',
    '        gt: 1000',
    '      resource.resourceType:',
    '        - Invoice',
    '        - Bill',
    '    effect:',
    '      retentionPeriod: P7Y',
  ]);
});

test('whatever a policy says, it steers no terminal and is read as what it was', () => {
  const odd = fc.string({
    unit: fc.constantFrom(
      ...'ab:#-\'"\\ \n\t\r|>%@`{}[],&*!?~',
      '\u001b',
      '\u009b',
      '\u202e',
      '\u2028',
      '\ufeff',
      '\u0085',
      'é',
      '😀',
      '\0',
    ),
    maxLength: 12,
  });
  const scalar = fc.oneof(
    odd,
    fc.constantFrom('yes', 'null', '012', '1e3', '---', '...', '.inf', '0x1', '<<', '='),
    fc.double({ noNaN: true, min: -1e15, max: 1e15 }),
    fc.boolean(),
    fc.constant(null),
  );
  const conditions = fc.dictionary(
    odd,
    fc.oneof(scalar, fc.array(scalar, { maxLength: 3 }), fc.dictionary(odd, scalar, { maxKeys: 2 })),
    { maxKeys: 3 },
  );
  fc.assert(
    fc.property(odd, odd, conditions, (name, description, given) => {
      const policy = policyForm({
        ...POLICY,
        name,
        description,
        rules: [{ name, conditions: given, effect: {} }],
      } as never);
      const lines = policyYaml(policy, [description]);
      for (const line of lines) assert.equal(printable(line), line);
      assert.equal(JSON.stringify(readYaml(lines.join('\n'))[0]!.value), JSON.stringify(policy));
    }),
    { seed: 8, numRuns: runs(1000) },
  );
});
