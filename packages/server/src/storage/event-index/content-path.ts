// Where a value stands in context or payload: the keys from the top down. What the terms of a path begin with is made
// once, and found again for the next event, which mostly has the same paths.

import { numberTerm, pathTerm } from './terms.ts';

/** More are not the paths of a schema, but data in the place of keys. */
const REMEMBERED_CHARACTERS_MAX = 4 * 1024 * 1024;

export class ContentPath {
  /** That there is a value. */
  readonly term: string;
  /** What the terms of a number begin with. */
  readonly beforePlace: string;
  readonly #keys: readonly string[];
  readonly #below = new Map<string, ContentPath>();

  constructor(keys: readonly string[]) {
    this.#keys = keys;
    this.term = pathTerm(keys);
    this.beforePlace = numberTerm(keys, '');
  }

  below(key: string): ContentPath {
    let path = this.#below.get(key);
    if (path === undefined) {
      path = new ContentPath([...this.#keys, key]);
      this.#below.set(key, path);
      rememberedCharacters += key.length + path.term.length + path.beforePlace.length;
    }
    return path;
  }
}

let rememberedCharacters = 0;
let roots = new Map<string, ContentPath>();

/** Of context or payload. */
export function contentRoot(name: 'context' | 'payload'): ContentPath {
  if (rememberedCharacters > REMEMBERED_CHARACTERS_MAX) {
    rememberedCharacters = 0;
    roots = new Map();
  }
  let root = roots.get(name);
  if (root === undefined) roots.set(name, (root = new ContentPath([name])));
  return root;
}
