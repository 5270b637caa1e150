// A map that forgets entries that were not used for long, in constant time: a used entry is in the young generation, or is
// moved there. Once that is full, or old enough, it becomes the old generation, and the entries left in the old one are
// dropped. So an entry that is used at least once an age is kept, and there are at most two generations.

export interface AgingLimits {
  /** Of one generation. */
  readonly entriesMax: number;
  /** Absent: generations end only when they are full. */
  readonly ageNs?: number;
}

export class AgingMap<K, V extends object> {
  readonly #entriesMax: number;
  readonly #ageNs: number;
  #young = new Map<K, V>();
  #old = new Map<K, V>();
  #endsNs: number;

  constructor({ entriesMax, ageNs = Infinity }: AgingLimits, nowNs: number) {
    this.#entriesMax = entriesMax;
    this.#ageNs = ageNs;
    this.#endsNs = nowNs + ageNs;
  }

  /** Looks without counting as a use. */
  get(key: K): V | undefined {
    return this.#young.get(key) ?? this.#old.get(key);
  }

  /** Uses the entry, and makes it if necessary. */
  use(key: K, make: () => V, nowNs: number): V {
    if (nowNs >= this.#endsNs) this.#age(nowNs);
    const found = this.#young.get(key);
    if (found !== undefined) return found;
    const entry = this.#old.get(key) ?? make();
    if (this.#young.size >= this.#entriesMax) this.#age(nowNs);
    this.#young.set(key, entry);
    return entry;
  }

  /** How many entries are held, at most. */
  get size(): number {
    return this.#young.size + this.#old.size;
  }

  #age(nowNs: number): void {
    this.#old = this.#young;
    this.#young = new Map();
    this.#endsNs = nowNs + this.#ageNs;
  }
}
