// Reads XML 1.0 with namespaces, in UTF-8, piece by piece: elements, attributes, text, CDATA and comments, which is what SOAP
// allows in a message. A document type, an entity of its own and a processing instruction are refused at their first
// character: no code here reads one, follows an address or makes a text longer than it was sent.

import { AuditError, LIMITS } from '@tallystick/contract';
import { hasOnlyCharacters, resolveReferences, type SplitName, splitName } from './characters.ts';
import { Namespaces } from './names.ts';

export interface XmlName {
  readonly namespace: string;
  readonly local: string;
}

export interface XmlAttribute extends XmlName {
  readonly value: string;
}

/** What the reader is told of, in the order of the document. A text may come in pieces. */
export interface XmlReader {
  start(name: XmlName, attributes: readonly XmlAttribute[]): void;
  text(piece: string): void;
  end(): void;
}

const DEPTH_MAX = 64;
const ATTRIBUTES_MAX = 16;
const ATTRIBUTE_LENGTH_MAX = 4096;
const COMMENTS_LENGTH_MAX = 65_536;
/** More than any value may have; so that no single piece takes long. */
const TEXT_LENGTH_MAX = 1_048_576;

const DECLARATION =
  /^<\?xml\s+version\s*=\s*(?:"1\.0"|'1\.0')(?:\s+encoding\s*=\s*(?:"utf-8"|'utf-8'))?(?:\s+standalone\s*=\s*(?:"(?:yes|no)"|'(?:yes|no)'))?\s*\?>/i;
const DECLARED = /^<\?xml\s/;
const SPACE = /^[\t\n\r ]*$/;
/** What is repeated is bounded, so that nothing in a tag takes long to be refused. */
const ATTRIBUTE =
  /[\t\n\r ]{1,1024}([^\s=<>"'/]{1,300})[\t\n\r ]{0,1024}=[\t\n\r ]{0,1024}(?:"([^"<]{0,4097})"|'([^'<]{0,4097})')/y;
const NAME = /[^\s<>/="'&]{1,300}/y;
const TAG_END = /[\t\n\r ]{0,1024}(\/?)>/y;
/** A text is told in pieces of this length. */
const PIECE_LENGTH = 16_384;
/** What must not be cut apart: a reference, `]]>`, the end of a line, the halves of a character. */
const CUT_APART = /&[#\w]{0,8}$|\]{1,2}$|\r$|[\uD800-\uDBFF]$/;

const NO_ATTRIBUTES: readonly XmlAttribute[] = [];
/** A message has few names, and each of them often. */
const KNOWN_NAMES_MAX = 1000;

interface Attribute {
  readonly prefix: string;
  readonly local: string;
  readonly value: string;
}

export class XmlScanner {
  readonly #text: string;
  readonly #reader: XmlReader;
  readonly #namespaces = new Namespaces();
  /** The names of the open elements, as they were written. */
  readonly #open: string[] = [];
  readonly #known = new Map<string, SplitName>();
  #at = 0;
  #elements = 0;
  #commentsLength = 0;
  #textLength = 0;
  #hasRoot = false;

  constructor(bytes: Uint8Array, reader: XmlReader) {
    this.#reader = reader;
    try {
      this.#text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    } catch {
      throw new AuditError('MALFORMED_XML', 'The message is not UTF-8.');
    }
    // As it is told apart from the processing instructions, which nobody may send.
    this.#at = DECLARATION.exec(this.#text.slice(0, 200))?.[0].length ?? 0;
  }

  /** Reads one piece; false at the end of the document. */
  step(): boolean {
    const text = this.#text;
    const at = this.#at;
    if (at >= text.length) {
      if (!this.#hasRoot) throw this.malformed('there is no element');
      if (this.#open.length > 0) throw this.malformed(`<${this.#open.at(-1)}> is not closed`);
      return false;
    }
    if (text[at] !== '<') this.#readText();
    else if (text[at + 1] === '/') this.#readEnd();
    else if (text[at + 1] === '!') this.#readDeclared();
    else if (text[at + 1] === '?')
      throw this.malformed(
        at === 0 && DECLARED.test(text)
          ? 'its declaration must be of XML 1.0, in UTF-8'
          : 'a message has no processing instructions',
      );
    else this.#readStart();
    return true;
  }

  /** Also what the reader throws: it says where the scanner stands. */
  malformed(what: string, at = this.#at): AuditError {
    const before = this.#text.slice(0, at);
    const line = before.split('\n').length;
    const column = at - before.lastIndexOf('\n');
    const message = `The message cannot be read at line ${line}, column ${column}: ${what}.`;
    return new AuditError('MALFORMED_XML', message);
  }

  #readText(): void {
    const found = this.#text.indexOf('<', this.#at);
    const whole = found === -1 ? this.#text.length : found;
    const longest = this.#at + PIECE_LENGTH;
    let raw = this.#text.slice(this.#at, Math.min(whole, longest));
    if (longest < whole) raw = raw.replace(CUT_APART, '');
    const end = this.#at + raw.length;
    if (this.#open.length === 0) {
      if (!SPACE.test(raw)) throw this.malformed('there is text outside of the element');
      this.#at = end;
      return;
    }
    if (raw.includes(']]>')) throw this.malformed(']]> stands in a text');
    this.#tell(raw, true);
    this.#at = end;
  }

  #tell(raw: string, hasReferences: boolean): void {
    this.#textLength += raw.length;
    if (this.#textLength > TEXT_LENGTH_MAX)
      throw new AuditError('REQUEST_TOO_LARGE', `A text is over ${TEXT_LENGTH_MAX} characters.`);
    if (!hasOnlyCharacters(raw)) throw this.malformed('there is a character that XML 1.0 does not have');
    const lines = raw.includes('\r') ? raw.replaceAll(/\r\n?/g, '\n') : raw;
    this.#reader.text(hasReferences ? resolveReferences(lines, (what) => this.malformed(what)) : lines);
  }

  /** A comment or CDATA. */
  #readDeclared(): void {
    const text = this.#text;
    if (text.startsWith('<!--', this.#at)) {
      const end = this.#endOf('--', this.#at + 4, 'a comment is not closed, or too long');
      if (text[end + 2] !== '>') throw this.malformed('-- stands in a comment');
      const comment = text.slice(this.#at + 4, end);
      this.#commentsLength += comment.length;
      if (this.#commentsLength > COMMENTS_LENGTH_MAX)
        throw this.malformed(`the comments are over ${COMMENTS_LENGTH_MAX} characters`);
      if (!hasOnlyCharacters(comment))
        throw this.malformed('there is a character that XML 1.0 does not have');
      this.#at = end + 3;
      return;
    }
    if (!text.startsWith('<![CDATA[', this.#at) || this.#open.length === 0)
      throw this.malformed('a message has no document type and declares nothing');
    const end = this.#endOf(']]>', this.#at + 9, 'CDATA is not closed, or too long');
    this.#tell(text.slice(this.#at + 9, end), false);
    this.#at = end + 3;
  }

  #endOf(mark: string, from: number, otherwise: string): number {
    const found = this.#text.slice(from, from + TEXT_LENGTH_MAX).indexOf(mark);
    if (found === -1) throw this.malformed(otherwise);
    return from + found;
  }

  #readStart(): void {
    if (this.#open.length === 0 && this.#hasRoot) throw this.malformed('there is a second element');
    this.#elements += 1;
    if (this.#elements > LIMITS.requestValuesMax) {
      const message = `The message has over ${LIMITS.requestValuesMax} elements.`;
      throw new AuditError('REQUEST_TOO_LARGE', message);
    }
    if (this.#open.length >= DEPTH_MAX) throw this.malformed(`elements nest over ${DEPTH_MAX} levels`);
    const name = this.#readName(this.#at + 1);
    const attributes = this.#readAttributes();
    const isEmpty = this.#readTagEnd(name);
    const depth = this.#open.length;
    this.#declare(attributes, depth);
    const { prefix, local } = this.#split(name);
    const resolved = this.#resolve(attributes);
    this.#hasRoot = true;
    this.#textLength = 0;
    this.#reader.start({ namespace: this.#namespaceOf(prefix), local }, resolved);
    if (isEmpty) {
      this.#namespaces.leave(depth);
      this.#reader.end();
    } else this.#open.push(name);
  }

  #readName(from: number): string {
    NAME.lastIndex = from;
    const [name] = NAME.exec(this.#text) ?? [];
    if (name === undefined) throw this.malformed('< does not begin an element');
    this.#at = from + name.length;
    return name;
  }

  #readAttributes(): Attribute[] {
    const attributes: Attribute[] = [];
    ATTRIBUTE.lastIndex = this.#at;
    for (let match = ATTRIBUTE.exec(this.#text); match !== null; match = ATTRIBUTE.exec(this.#text)) {
      const [, name = '', quoted, single] = match;
      const raw = quoted ?? single ?? '';
      if (attributes.length >= ATTRIBUTES_MAX)
        throw this.malformed(`an element has over ${ATTRIBUTES_MAX} attributes`);
      if (raw.length > ATTRIBUTE_LENGTH_MAX)
        throw this.malformed(`an attribute is over ${ATTRIBUTE_LENGTH_MAX} characters`);
      if (!hasOnlyCharacters(raw)) throw this.malformed('there is a character that XML 1.0 does not have');
      const spaced = raw.replaceAll(/\r\n|[\t\n\r]/g, ' ');
      const value = resolveReferences(spaced, (what) => this.malformed(what));
      attributes.push({ ...this.#split(name), value });
      this.#at = ATTRIBUTE.lastIndex;
    }
    return attributes;
  }

  /** True: the element is empty. */
  #readTagEnd(name: string): boolean {
    TAG_END.lastIndex = this.#at;
    const match = TAG_END.exec(this.#text);
    if (match === null) throw this.malformed(`the tag of ${name.slice(0, 100)} is not closed`);
    this.#at = TAG_END.lastIndex;
    return match[1] === '/';
  }

  #declare(attributes: readonly Attribute[], depth: number): void {
    for (const { prefix, local, value } of attributes) {
      const isDefault = prefix === '' && local === 'xmlns';
      if (!isDefault && prefix !== 'xmlns') continue;
      const wrong = this.#namespaces.declare(isDefault ? '' : local, value, depth);
      if (wrong !== undefined) throw this.malformed(wrong);
    }
  }

  /** Those that declare nothing, by their namespaces; two of one name are refused, declarations too. */
  #resolve(attributes: readonly Attribute[]): readonly XmlAttribute[] {
    if (attributes.length === 0) return NO_ATTRIBUTES;
    const resolved: XmlAttribute[] = [];
    const seen = new Set<string>();
    for (const { prefix, local, value } of attributes) {
      const isDeclaration = prefix === 'xmlns' || (prefix === '' && local === 'xmlns');
      const namespace = isDeclaration ? 'xmlns' : prefix === '' ? '' : this.#namespaceOf(prefix);
      const name = `${isDeclaration ? prefix : namespace}\n${local}`;
      if (seen.has(name)) throw this.malformed(`the attribute ${local} is there twice`);
      seen.add(name);
      if (!isDeclaration) resolved.push({ namespace, local, value });
    }
    return resolved;
  }

  #namespaceOf(prefix: string): string {
    const namespace = this.#namespaces.of(prefix);
    if (namespace === undefined) throw this.malformed(`nothing says what the prefix ${prefix} stands for`);
    return namespace;
  }

  #split(name: string): SplitName {
    const known = this.#known.get(name);
    if (known !== undefined) return known;
    const split = splitName(name);
    if (split === undefined) throw this.malformed(`${name.slice(0, 100)} is no name, or too long`);
    if (this.#known.size < KNOWN_NAMES_MAX) this.#known.set(name, split);
    return split;
  }

  #readEnd(): void {
    const from = this.#at;
    const name = this.#readName(this.#at + 2);
    const open = this.#open.pop();
    if (name !== open) throw this.malformed(`</${name.slice(0, 100)}> closes no element that is open`, from);
    if (this.#readTagEnd(name)) throw this.malformed('a closing tag ends with />', from);
    this.#namespaces.leave(this.#open.length);
    this.#textLength = 0;
    this.#reader.end();
  }
}
