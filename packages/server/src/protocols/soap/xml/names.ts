// Prefixes and what they stand for, by Namespaces in XML 1.0: what an element declares holds for it and all inside it.

export const XML_NAMESPACE = 'http://www.w3.org/XML/1998/namespace';
const XMLNS_NAMESPACE = 'http://www.w3.org/2000/xmlns/';
const DECLARATIONS_MAX = 32;

interface Declared {
  readonly prefix: string;
  readonly namespace: string;
  readonly depth: number;
}

export class Namespaces {
  readonly #declared: Declared[] = [];

  /** Gives what is wrong with the declaration. The prefix of the default namespace is empty. */
  declare(prefix: string, namespace: string, depth: number): string | undefined {
    if (prefix === 'xmlns' || namespace === XMLNS_NAMESPACE) return 'xmlns cannot be declared';
    if ((prefix === 'xml') !== (namespace === XML_NAMESPACE)) return 'the prefix xml has its own namespace';
    if (prefix !== '' && namespace === '') return `the prefix ${prefix} stands for nothing`;
    if (this.#declared.length >= DECLARATIONS_MAX)
      return `over ${DECLARATIONS_MAX} namespaces are declared here`;
    this.#declared.push({ prefix, namespace, depth });
    return undefined;
  }

  /** Undefined: nobody has declared the prefix. */
  of(prefix: string): string | undefined {
    if (prefix === 'xml') return XML_NAMESPACE;
    const found = this.#declared.findLast((each) => each.prefix === prefix);
    return found?.namespace ?? (prefix === '' ? '' : undefined);
  }

  /** Forgets what was declared at this depth. */
  leave(depth: number): void {
    while ((this.#declared.at(-1)?.depth ?? -1) >= depth) this.#declared.pop();
  }
}
