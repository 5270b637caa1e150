// A value that must not be shown. However it is printed – in a message, as JSON, by a debugger – it reads `***`;
// only `reveal` gives it away, so every place that uses a secret can be found by searching for that word.

import { inspect } from 'node:util';

/** Every text in the configuration that must not be shown: the secrets, and the passwords inside their URLs. */
export function secretTexts(config: unknown): string[] {
  if (config instanceof Secret) {
    const text = config.reveal();
    return [text, ...passwordsIn(text)].filter((part) => part !== '');
  }
  if (typeof config !== 'object' || config === null) return [];
  return Object.values(config).flatMap(secretTexts);
}

/** A URL of PostgreSQL may have it among its parameters too. */
function passwordsIn(text: string): string[] {
  if (!URL.canParse(text)) return [];
  const { password, searchParams } = new URL(text);
  return [password, unescapedUrl(password), ...searchParams.getAll('password')];
}

function unescapedUrl(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

const MASK = '***';

export class Secret {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
  }

  reveal(): string {
    return this.#value;
  }

  toString(): string {
    return MASK;
  }

  toJSON(): string {
    return MASK;
  }

  [inspect.custom](): string {
    return MASK;
  }
}
