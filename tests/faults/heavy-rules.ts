// Bodies of rules that are sound, and as much work as rules can be: to hold against each other, or to judge by.

import type { HostileBody } from './hostile-bodies.ts';

export function* heavyRules(): Generator<HostileBody> {
  const texts = (count: number, text: (index: number) => string) =>
    `[${Array.from({ length: count }, (_, i) => JSON.stringify(text(i))).join(',')}]`;
  const alike = Array.from({ length: 20 }, (_, i) => `"payload.a${i}":1`).join(',');
  const allow = (conditions: string) =>
    `{"conditions":${conditions},"effect":{"access":"Allow","roles":["Admin"]}}`;
  const prefixes = (rule: number) => allow(`{"actions":${texts(999, (i) => `A.b${rule}x${i}*`)}}`);
  const policy = (rules: string) => `{"name":"n","policyType":"Access","rules":[${rules}]}`;
  const path = '/policies/validate';
  const rules = [
    ['five hundred rules that are alike', Array.from({ length: 500 }, () => allow(`{${alike}}`)).join(',')],
    ['eighty lists of prefixes', Array.from({ length: 80 }, (_, i) => prefixes(i)).join(',')],
  ] as const;
  for (const [name, text] of rules) yield { path, method: 'POST', name, text: policy(text) };
  const lists = Array.from({ length: 64 }, (_, i) => `"payload.a${i}":${texts(1000, (j) => `${i} ${j}`)}`);
  const hold = `{"name":"n","reason":"r","conditions":{${lists.join(',')}}}`;
  yield { path: '/legal-holds', method: 'POST', name: 'a hold of long lists', text: hold };
}
