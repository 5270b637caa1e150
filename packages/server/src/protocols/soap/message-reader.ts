// Makes JSON text of the element of a request, as its form says, without a tree in between: an element becomes a member, its
// text what the schema asks for where it can. Where it cannot it becomes a text, and what is not known becomes an object
// under its name, so that the gateway says in its own words what is wrong.

import { AuditError } from '@tallystick/contract';
import { SOAP_NAMESPACE, type XmlForm } from '@tallystick/contract/soap';
import { parseJson } from '@tallystick/evidence';
import { XML_NAMESPACE } from './xml/names.ts';
import type { XmlAttribute, XmlName, XmlReader } from './xml/scan.ts';

const INSTANCE_NAMESPACE = 'http://www.w3.org/2001/XMLSchema-instance';
const NOT_SPACE = /[^\t\n\r ]/;
const INTEGER = /^([+-]?)0*(\d+)$/;
const NUMBER = /^([+-]?)0*(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d+))?$/;

interface Frame {
  readonly name: string;
  readonly form: XmlForm;
  readonly isNil: boolean;
  /** How many members or items it has so far. */
  count: number;
  text: string;
}

export class MessageReader implements XmlReader {
  /** The JSON text of each member of the input that was sent. */
  readonly members = new Map<string, string>();
  readonly #malformed: (what: string) => AuditError;
  readonly #frames: Frame[];
  #json = '';
  /** How deep inside an element that is dropped. */
  #dropping = 0;

  constructor(name: string, request: XmlForm, malformed: (what: string) => AuditError) {
    this.#malformed = malformed;
    this.#frames = [{ name, form: request, isNil: false, count: 0, text: '' }];
  }

  start({ namespace, local }: XmlName, attributes: readonly XmlAttribute[]): void {
    if (this.#dropping > 0) {
      this.#dropping += 1;
      return;
    }
    if (namespace !== SOAP_NAMESPACE)
      throw this.#malformed(`<${local}> is in the namespace '${namespace}', not in ${SOAP_NAMESPACE}`);
    const parent = this.#frames.at(-1)!;
    if (parent.isNil) throw this.#malformed(`<${parent.name}> has xsi:nil, and something inside`);
    const isNil = this.#isNil(local, attributes);
    const key = this.#keyOf(parent, local, attributes);
    const form = this.#formOf(parent, local);
    if (form?.kind === 'Ignored') {
      this.#dropping = 1;
      return;
    }
    this.#begin(parent, key);
    if (form === undefined) {
      this.#json += '{}';
      this.#dropping = 1;
      if (this.#frames.length === 1) this.#finishMember(local);
      return;
    }
    if (!isNil) this.#json += OPENING[form.kind] ?? '';
    this.#frames.push({ name: local, form, isNil, count: 0, text: '' });
  }

  text(piece: string): void {
    if (this.#dropping > 0) return;
    const frame = this.#frames.at(-1)!;
    const holdsElements = OPENING[frame.form.kind] !== undefined;
    if (!holdsElements && !frame.isNil) frame.text += piece;
    else if (NOT_SPACE.test(piece))
      throw this.#malformed(
        `there is text in <${frame.name}>, which holds ${frame.isNil ? 'nothing' : 'elements'}`,
      );
  }

  end(): void {
    if (this.#dropping > 0) {
      this.#dropping -= 1;
      return;
    }
    const frame = this.#frames.pop()!;
    if (this.#frames.length === 0) return;
    this.#json += frame.isNil ? 'null' : (CLOSING[frame.form.kind] ?? this.#scalar(frame));
    if (this.#frames.length === 1) this.#finishMember(frame.name);
  }

  /** What stands before the value: a comma, and the key of a member. Members of the input have texts of their own. */
  #begin(parent: Frame, key: string | undefined): void {
    if (this.#frames.length === 1) {
      this.#json = '';
      return;
    }
    if (parent.count > 0) this.#json += ',';
    parent.count += 1;
    if (key !== undefined) this.#json += `${JSON.stringify(key)}:`;
  }

  #finishMember(name: string): void {
    if (this.members.has(name)) {
      const details = [{ field: name, issue: 'is sent twice' }];
      throw new AuditError('VALIDATION_FAILED', `${name} is sent twice.`, { details });
    }
    this.members.set(name, this.#json);
  }

  /** Undefined: the object has no such member. */
  #formOf({ form, name }: Frame, local: string): XmlForm | undefined {
    if (form.kind === 'Object') return form.members.get(local)?.form;
    const expected = form.kind === 'List' ? 'item' : 'entry';
    if (form.kind !== 'List' && form.kind !== 'Map')
      throw this.#malformed(`<${local}> stands in <${name}>, which holds text alone`);
    if (local !== expected)
      throw this.#malformed(`<${local}> stands in <${name}>, which holds <${expected}> alone`);
    return form.kind === 'List' ? form.item : form.value;
  }

  #keyOf({ form }: Frame, local: string, attributes: readonly XmlAttribute[]): string | undefined {
    if (form.kind === 'Object') return local;
    if (form.kind !== 'Map') return undefined;
    const key = attributes.find((each) => each.namespace === '' && each.local === 'key');
    if (key === undefined) throw this.#malformed(`<${local}> has no attribute key`);
    return key.value;
  }

  #isNil(name: string, attributes: readonly XmlAttribute[]): boolean {
    let isNil = false;
    for (const { namespace, local, value } of attributes) {
      const isKey = namespace === '' && local === 'key' && name === 'entry';
      if (isKey || namespace === XML_NAMESPACE) continue;
      const isKnown = namespace === INSTANCE_NAMESPACE && local === 'nil';
      if (!isKnown) throw this.#malformed(`<${name}> has the attribute ${local}, which nothing has here`);
      if (!/^\s*(?:true|false|1|0)\s*$/.test(value)) throw this.#malformed('xsi:nil must be true or false');
      isNil = /true|1/.test(value);
    }
    return isNil;
  }

  #scalar({ name, form, text }: Frame): string {
    if (form.kind === 'Text') return JSON.stringify(text);
    const bare = text.replaceAll(/^[\t\n\r ]+|[\t\n\r ]+$/g, '');
    if (form.kind === 'Json') return this.#jsonIn(name, bare);
    if (form.kind === 'Integer' || form.kind === 'Number') {
      const json = form.kind === 'Integer' ? integer(bare) : number(bare);
      // What no double holds would be null by the time that it is validated, and so absent.
      return json !== undefined && Number.isFinite(Number(json)) ? json : JSON.stringify(text);
    }
    if (bare === 'true' || bare === '1') return 'true';
    return bare === 'false' || bare === '0' ? 'false' : JSON.stringify(text);
  }

  /** One whole value, so that it says nothing of what is around it; the scanner of all input judges what it holds. */
  #jsonIn(name: string, text: string): string {
    if (text === '') return '""';
    try {
      parseJson(text);
    } catch {
      const what = `<${name}> must hold one value of JSON as text`;
      throw new AuditError('MALFORMED_JSON', this.#malformed(what).message);
    }
    return text;
  }
}

const OPENING: Readonly<Partial<Record<XmlForm['kind'], string>>> = {
  Object: '{',
  Map: '{',
  List: '[',
};
const CLOSING: Readonly<Partial<Record<XmlForm['kind'], string>>> = { Object: '}', Map: '}', List: ']' };

/** As JSON spells it; undefined where it is none. */
function integer(text: string): string | undefined {
  const [, sign, digits] = INTEGER.exec(text) ?? [];
  return digits === undefined ? undefined : `${sign === '-' && digits !== '0' ? '-' : ''}${digits}`;
}

function number(text: string): string | undefined {
  const match = NUMBER.exec(text);
  if (match === null) return undefined;
  const [, sign, whole = '', fraction = '', exponent] = match;
  if (whole === '' && fraction === '' && !/\d/.test(text)) return undefined;
  const point = fraction === '' ? '' : `.${fraction}`;
  return `${sign === '-' ? '-' : ''}${whole || '0'}${point}${exponent === undefined ? '' : `e${exponent}`}`;
}
