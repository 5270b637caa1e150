// The JSON that protobuf has for messages, which Connect sends: against the contract's own JSON the names of enum values
// differ, integers of 64 bits are texts, and a union says which of its shapes it is. What a caller sends may have either form.

import { LIMITS } from '@tallystick/contract';
import {
  enumValueName,
  type FieldPlan,
  type FieldType,
  type MessagePlan,
  NULL_MEMBERS,
} from '@tallystick/contract/grpc';
import { parseJson } from '@tallystick/evidence';
import { branchIn } from './encode.ts';

type Members = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** How many members are kept that nobody knows: as many as an error lists. All of them may be tens of thousands. */
interface Unknown {
  left: number;
}

/** As the contract has it; what does not fit the plan stays as it is, and is refused by the gateway. */
export function fromProtoJson(
  plan: MessagePlan,
  value: unknown,
  unknown: Unknown = { left: LIMITS.errorDetailsMax },
): unknown {
  if (!isObject(value)) return value;
  const result: Record<string, unknown> = {};
  for (const [name, each] of Object.entries(value)) {
    const field = plan.fields.find((one) => one.name === name || one.protoName === name);
    if (field === undefined) {
      if (unknown.left > 0) setOwn(result, name, each);
      unknown.left -= 1;
    } else if (field.name !== NULL_MEMBERS) setOwn(result, field.member, fromField(field, each, unknown));
  }
  const nulls = value[NULL_MEMBERS] ?? value['null_members'];
  if (Array.isArray(nulls)) for (const name of nulls) setNull(plan, result, String(name));
  return result;
}

/** Also for names such as `__proto__`. */
function setOwn(target: Record<string, unknown>, name: string, value: unknown): void {
  Object.defineProperty(target, name, { value, enumerable: true, configurable: true, writable: true });
}

function setNull(plan: MessagePlan, result: Record<string, unknown>, name: string): void {
  const [first = '', ...rest] = name.split('.');
  const field = plan.fields.find((one) => one.name === first || one.protoName === first);
  if (field === undefined || rest.length === 0) return setOwn(result, field?.member ?? name, null);
  const known = result[field.member];
  // In place: a copy for each of thousands of names would take minutes.
  const map = isObject(known) ? (known as Record<string, unknown>) : {};
  setOwn(map, rest.join('.'), null);
  return setOwn(result, field.member, map);
}

function fromField({ type, isRepeated }: FieldPlan, value: unknown, unknown: Unknown): unknown {
  if (isRepeated) return Array.isArray(value) ? value.map((item) => fromSingle(type, item, unknown)) : value;
  return fromSingle(type, value, unknown);
}

const DIGITS = /^-?\d{1,16}$/;

function fromSingle(type: FieldType, value: unknown, unknown: Unknown): unknown {
  if (type.kind === 'Message') return fromProtoJson(type.of, value, unknown);
  if (type.kind === 'JsonText' && typeof value === 'string') return parsedOr(value);
  if (type.kind === 'Map' && isObject(value)) {
    const entries = Object.entries(value).map(
      ([key, each]) => [key, fromSingle(type.of, each, unknown)] as const,
    );
    return Object.fromEntries(entries);
  }
  if (type.kind === 'Scalar' && typeof value === 'string' && type.of.startsWith('int'))
    return DIGITS.test(value) ? Number(value) : value;
  if (type.kind !== 'Enum') return value;
  for (const [word, number] of type.of.words)
    if (value === number || value === enumValueName(type.of.name, word)) return word;
  return value;
}

function parsedOr(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    // Not an object, and told so by the gateway.
    return text;
  }
}

export function toProtoJson(plan: MessagePlan, value: unknown): unknown {
  if (plan.form === 'Union') {
    const branch = branchIn(plan, value as Members);
    return { [branch.name]: toSingle(branch.type, value) };
  }
  const members: Members =
    plan.form === 'Tuple'
      ? Object.fromEntries(plan.fields.map(({ member }, i) => [member, (value as unknown[])[i]]))
      : plan.form === 'List'
        ? { values: value }
        : (value as Members);
  const shown = plan.fields.flatMap((field) => {
    const each = members[field.member];
    const { type, isRepeated } = field;
    if (each === undefined || (each === null && type.kind !== 'Value') || type.kind === 'JsonText') return [];
    const written = isRepeated
      ? (each as readonly unknown[]).map((item) => toSingle(type, item ?? ''))
      : toSingle(type, each);
    return [[field.name, written] as const];
  });
  return Object.fromEntries(shown);
}

function toSingle(type: FieldType, value: unknown): unknown {
  if (type.kind === 'Message') return toProtoJson(type.of, value);
  if (type.kind === 'Enum') return enumValueName(type.of.name, value as string);
  if (type.kind === 'Scalar' && type.of === 'int64') return String(value);
  if (type.kind !== 'Map') return value;
  return Object.fromEntries(
    Object.entries(value as Members).map(([key, each]) => [key, toSingle(type.of, each)]),
  );
}
