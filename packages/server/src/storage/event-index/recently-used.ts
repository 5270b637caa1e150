// Values by their names, kept up to a size of all together; the longest unused go first.

interface Kept<Value> {
  readonly value: Value;
  readonly size: number;
}

export class RecentlyUsed<Name, Value> {
  readonly #sizeMax: number;
  /** The longest unused first. */
  readonly #kept = new Map<Name, Kept<Value>>();
  #size = 0;

  /** Of as many values, unless each is kept with a size of its own. */
  constructor(sizeMax: number) {
    this.#sizeMax = sizeMax;
  }

  get(name: Name): Value | undefined {
    const kept = this.#kept.get(name);
    if (kept === undefined) return undefined;
    this.#kept.delete(name);
    this.#kept.set(name, kept);
    return kept.value;
  }

  /** It stays until the next one is kept, even if it is larger than all may be. */
  keep(name: Name, value: Value, size = 1): void {
    this.#drop(name);
    this.#kept.set(name, { value, size });
    this.#size += size;
    for (const oldest of this.#kept.keys()) {
      if (this.#size <= this.#sizeMax || oldest === name) return;
      this.#drop(oldest);
    }
  }

  #drop(name: Name): void {
    this.#size -= this.#kept.get(name)?.size ?? 0;
    this.#kept.delete(name);
  }
}
