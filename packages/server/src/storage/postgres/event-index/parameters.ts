// The values of a statement that is put together for one question. It is not prepared under a name: there are too many of
// them, and each is planned for its own values.

import type { Statement, Value } from '../connection/database.ts';

export function once(text: string): Statement {
  return { name: '', text };
}

export class Parameters {
  readonly values: Value[];

  constructor(values: readonly Value[] = []) {
    this.values = [...values];
  }

  /** How the value stands in the statement. */
  mark(value: Value): string {
    this.values.push(value);
    return `$${this.values.length}`;
  }
}
