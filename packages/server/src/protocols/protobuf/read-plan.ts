// The plan of a message in the form in which messages are read, and what is found of its fields in one.

import { type FieldPlan, type FieldType, type MessagePlan, NULL_MEMBERS } from '@tallystick/contract/grpc';
import { WIRE } from './reader.ts';

/** A field in the form in which it is read often. */
export interface ReadField {
  readonly plan: FieldPlan;
  /** Fields of one member share a slot: of an object and its text, the last counts. */
  readonly slot: number;
  readonly wire: number;
  /** All that comes counts, not the last alone: items, entries, the pieces of a message. */
  readonly isMany: boolean;
}

export interface ReadPlan {
  readonly byNumber: ReadonlyMap<number, ReadField>;
  /** In the order in which members are written. */
  readonly members: readonly string[];
  /** With a comma before them. */
  readonly keys: readonly Uint8Array[];
  readonly nullSlot: number;
  /** What stands for an absent list, map or null that must be there. */
  readonly empties: readonly (string | undefined)[];
  /** The slots of a message without fields. */
  readonly absent: Slots;
}

/** Where the values of a member begin in the message, and where those of wire type `Bytes` end: in pairs. */
export class Found {
  readonly field: ReadField;
  readonly at: number[] = [];
  isNull = false;
  /** Keys of a map whose values are null. */
  readonly nullKeys: string[] = [];

  constructor(field: ReadField) {
    this.field = field;
  }
}

export type Slots = (Found | undefined)[];

const readPlans = new WeakMap<MessagePlan, ReadPlan>();

export function readPlanOf(plan: MessagePlan): ReadPlan {
  const known = readPlans.get(plan);
  if (known !== undefined) return known;
  const members = [...new Set(plan.fields.map(({ member }) => member))].toSorted();
  const fields = plan.fields.map((field): [number, ReadField] => {
    const { type, isRepeated } = field;
    const isMany = isRepeated || type.kind === 'Map' || hasInside(type);
    return [field.number, { plan: field, slot: members.indexOf(field.member), wire: wireOf(type), isMany }];
  });
  const keys = members.map((member) => Buffer.from(`,${JSON.stringify(member)}:`));
  const empties = members.map((member) => {
    const required = plan.fields.find((each) => each.member === member && each.isRequired === true);
    if (required === undefined) return undefined;
    if (required.isRepeated) return '[]';
    return required.type.kind === 'Map' ? '{}' : 'null';
  });
  const made = {
    byNumber: new Map(fields),
    members,
    keys,
    nullSlot: members.indexOf(NULL_MEMBERS),
    empties,
    absent: members.map(() => undefined),
  };
  readPlans.set(plan, made);
  return made;
}

export type InsideType = FieldType & { readonly kind: 'Message' | 'Struct' | 'Value' };

export function hasInside(type: FieldType): type is InsideType {
  return type.kind === 'Message' || type.kind === 'Struct' || type.kind === 'Value';
}

export function wireOf(type: FieldType): number {
  if (type.kind === 'Enum') return WIRE.Varint;
  if (type.kind !== 'Scalar' || type.of === 'string' || type.of === 'bytes') return WIRE.Bytes;
  return type.of === 'double' ? WIRE.Fixed64 : WIRE.Varint;
}

/** That of the field's slot: of another field of the same member, the last counts. */
export function foundIn(slots: Slots, field: ReadField): Found {
  const before = slots[field.slot];
  if (before?.field === field) return before;
  const found = new Found(field);
  slots[field.slot] = found;
  return found;
}

export const UNSPECIFIED = '"UNKNOWN_0"';

const words = new WeakMap<ReadonlyMap<string, number>, Map<number, string>>();

export function wordOf(numbers: ReadonlyMap<string, number>, number: number): string {
  let texts = words.get(numbers);
  if (texts === undefined) {
    texts = new Map([...numbers].map(([word, each]) => [each, JSON.stringify(word)]));
    words.set(numbers, texts);
  }
  return texts.get(number) ?? `"UNKNOWN_${number | 0}"`;
}
