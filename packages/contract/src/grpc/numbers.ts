// Reads and completes the table of field-numbers.ts: a line for each message or enum, with its members and their
// numbers. A line that begins with `reserved` lists members that are gone.

const LINE = /^(reserved )?(?:enum )?(\w+): (.+)$/;

/** Above these are those that protobuf keeps for itself. */
const NUMBER_MAX = 18_999;

export interface Numbered {
  readonly name: string;
  readonly isEnum: boolean;
  readonly members: readonly string[];
}

export class FieldNumbers {
  readonly #numbers = new Map<string, Map<string, number>>();
  readonly #reserved = new Map<string, Map<string, number>>();
  readonly #enums = new Set<string>();

  constructor(text: string) {
    for (const line of text.split('\n').filter((each) => each !== '')) {
      const [, reserved, name = '', members = ''] = LINE.exec(line) ?? [];
      if (name === '') throw new Error(`no line of field numbers: ${line}`);
      if (line.startsWith('enum ')) this.#enums.add(name);
      const table = reserved === undefined ? this.#numbers : this.#reserved;
      table.set(name, new Map(members.split(', ').map(numberedMember)));
    }
  }

  /** That of the table, or the next one. */
  numberOf(name: string, member: string, isEnum = false): number {
    if (isEnum) this.#enums.add(name);
    const known = this.#numbers.get(name) ?? new Map<string, number>();
    this.#numbers.set(name, known);
    const number = known.get(member);
    if (number !== undefined) return number;
    if (this.reservedOf(name).has(member)) throw new Error(`${name}.${member} was removed and cannot return`);
    const next = Math.max(0, ...known.values(), ...this.reservedOf(name).values()) + 1;
    if (next > NUMBER_MAX) throw new Error(`${name} has no number left`);
    known.set(member, next);
    return next;
  }

  membersOf(name: string): ReadonlyMap<string, number> {
    return this.#numbers.get(name) ?? new Map<string, number>();
  }

  reservedOf(name: string): ReadonlyMap<string, number> {
    return this.#reserved.get(name) ?? new Map<string, number>();
  }

  names(): string[] {
    return [...this.#numbers.keys()];
  }

  toText(): string {
    const lines = (table: Map<string, Map<string, number>>, before: string) =>
      [...table].map(([name, members]) => {
        const listed = [...members].map(([member, number]) => `${member} ${number}`).join(', ');
        return `${before}${this.#enums.has(name) ? 'enum ' : ''}${name}: ${listed}\n`;
      });
    return [...lines(this.#numbers, ''), ...lines(this.#reserved, 'reserved ')].toSorted().join('');
  }
}

function numberedMember(text: string): [string, number] {
  const [member = '', number] = text.split(' ');
  return [member, Number(number)];
}
