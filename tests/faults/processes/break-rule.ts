// The service, but for one rule of deletion that it breaks, named by BROKEN_RULE: `BeyondNotice` deletes the content of one more event
// than a notice names; `StaysInStore` tells everybody that a field is gone, and leaves its value where it is. For the control of a
// test that must find either.

import { DatabaseSync, StatementSync } from 'node:sqlite';
import { Client } from 'pg';
import { serveWith } from './serve-with.ts';

type Call = (this: object, ...args: unknown[]) => unknown;
interface Asked {
  readonly text?: string;
  readonly values?: readonly unknown[];
}

const NOTHING = { text: 'SELECT 1 WHERE false' };
const RULES = {
  BeyondNotice: {
    text: /^DELETE FROM contents\b/,
    run: (real: Call, self: object, [tenant, first, end]: unknown[]) =>
      real.call(self, tenant, first, Number(end) + 1),
    query({ values: [tenant, month, indexes] = [], ...asked }: Asked) {
      const named = (indexes as readonly unknown[]).map(Number);
      return { ...asked, values: [tenant, month, [...named, Math.max(...named) + 1]] };
    },
  },
  StaysInStore: {
    text: /^UPDATE contents SET text1\b/,
    run: () => ({ changes: 1, lastInsertRowid: 0 }),
    query: () => NOTHING,
  },
} as const;
const rule = RULES[process.env['BROKEN_RULE'] as keyof typeof RULES];

/** Calls `other` in its place, with what it was. */
function replace(
  prototype: object,
  name: string,
  other: (real: Call, self: object, args: unknown[]) => unknown,
) {
  const methods = prototype as Record<string, Call>;
  const real = methods[name]!;
  methods[name] = function (...args) {
    return other(real, this, args);
  };
}

const texts = new WeakMap<object, string>();
replace(DatabaseSync.prototype, 'prepare', (real, self, args) => {
  const statement = real.apply(self, args) as object;
  texts.set(statement, String(args[0]).trim());
  return statement;
});
replace(StatementSync.prototype, 'run', (real, self, args) =>
  rule.text.test(texts.get(self) ?? '') ? rule.run(real, self, args) : real.apply(self, args),
);
replace(Client.prototype, 'query', (real, self, [first, ...more]) => {
  const asked = first as Asked;
  const isBroken = typeof asked.text === 'string' && rule.text.test(asked.text.trim());
  return real.call(self, isBroken ? rule.query(asked) : first, ...more);
});
await serveWith({ hasThreads: false });
