// The characters of XML 1.0: which there are, how names are made of them, and how text is written with them.

import { AuditError } from '@tallystick/contract';

// oxlint-disable-next-line no-control-regex -- these are the ones that XML 1.0 does not have
const NO_CHARACTER = /[^\t\n\r\u0020-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/u;
const NO_CHARACTERS = new RegExp(NO_CHARACTER, 'gu');

const START =
  'A-Z_a-z\\u00C0-\\u00D6\\u00D8-\\u00F6\\u00F8-\\u02FF\\u0370-\\u037D\\u037F-\\u1FFF\\u200C\\u200D\\u2070-\\u218F\\u2C00-\\u2FEF\\u3001-\\uD7FF\\uF900-\\uFDCF\\uFDF0-\\uFFFD\\u{10000}-\\u{EFFFF}';
const PART = `${START}\\-.0-9\\u00B7\\u0300-\\u036F\\u203F\\u2040`;
/** A name with its prefix, if it has one. */
const QUALIFIED = new RegExp(`^(?:([${START}][${PART}]*):)?([${START}][${PART}]*)$`, 'u');

const NAME_LENGTH_MAX = 256;

export interface SplitName {
  readonly prefix: string;
  readonly local: string;
}

/** Undefined where it is no name. */
export function splitName(name: string): SplitName | undefined {
  if (name.length > NAME_LENGTH_MAX) return undefined;
  const [, prefix = '', local] = QUALIFIED.exec(name) ?? [];
  return local === undefined ? undefined : { prefix, local };
}

export function hasOnlyCharacters(text: string): boolean {
  return !NO_CHARACTER.test(text);
}

/** XML has these five, and no others are understood: there is nothing here that could read a declaration. */
const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };
const REFERENCE = /&(?:#(\d{1,7})|#x([\da-fA-F]{1,6})|(\w{1,8}));|&/g;

/** The text with its references replaced; each stands for one character, so no text grows. */
export function resolveReferences(text: string, malformed: (message: string) => AuditError): string {
  if (!text.includes('&')) return text;
  return text.replace(REFERENCE, (reference, decimal?: string, hexadecimal?: string, name?: string) => {
    if (name !== undefined && Object.hasOwn(ENTITIES, name)) return ENTITIES[name]!;
    if (decimal === undefined && hexadecimal === undefined)
      throw malformed(
        `${reference} is none of &amp; &lt; &gt; &quot; &apos; and no reference to a character`,
      );
    const code = decimal === undefined ? Number.parseInt(hexadecimal!, 16) : Number(decimal);
    if (!isCharacter(code)) throw malformed(`${reference} is no character of XML 1.0`);
    return String.fromCodePoint(code);
  });
}

const isCharacter = (code: number): boolean =>
  (code >= 0x20 && code <= 0xd7ff) ||
  (code >= 0xe000 && code <= 0xfffd) ||
  (code >= 0x10000 && code <= 0x10ffff) ||
  code === 0x9 ||
  code === 0xa ||
  code === 0xd;

const ESCAPED: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  // Readers turn a bare one into a line feed.
  '\r': '&#13;',
};
const IN_TEXT = /[&<>\r]/g;
const IN_ATTRIBUTE = /[&<>"\r\n\t]/g;

/** Writes text, and counts the characters that XML 1.0 cannot hold, which are written as U+FFFD. */
export class XmlText {
  replaced = 0;

  text(value: string): string {
    return this.#sound(value).replace(IN_TEXT, (each) => ESCAPED[each]!);
  }

  attribute(value: string): string {
    return this.#sound(value).replace(IN_ATTRIBUTE, (each) => ESCAPED[each] ?? `&#${each.charCodeAt(0)};`);
  }

  #sound(value: string): string {
    if (hasOnlyCharacters(value)) return value;
    return value.replace(NO_CHARACTERS, () => {
      this.replaced += 1;
      return '\uFFFD';
    });
  }
}
