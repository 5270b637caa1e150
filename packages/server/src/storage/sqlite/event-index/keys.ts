// The dictionary of a view: each action, actor and type of resource is a number in every other table. A text is looked
// up once and then remembered; what a commit that failed has added is forgotten with it.

import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { numberOf, textOrNone } from '../../rows/columns.ts';
import { KEY_KINDS, type KeyKind } from '../../event-index/index-columns.ts';

interface Key {
  readonly key: number;
  label: string | undefined;
  openLabel: string | undefined;
}

const REMEMBERED_MAX = 20_000;

export class Keys {
  readonly #find: StatementSync;
  readonly #insert: StatementSync;
  readonly #relabel: StatementSync;
  /** By kind, then by the text with the view in front. */
  readonly #remembered = new Map<KeyKind, Map<string, Key>>(KEY_KINDS.map((kind) => [kind, new Map()]));

  constructor(db: DatabaseSync) {
    this.#find = db.prepare(
      'SELECT key, label, open_label FROM keys WHERE view = ? AND kind = ? AND text = ?',
    );
    this.#insert = db.prepare('INSERT INTO keys (view, kind, text) VALUES (?, ?, ?)');
    this.#relabel = db.prepare('UPDATE keys SET label = ?, open_label = ? WHERE key = ?');
  }

  /** `isOpen`: everybody may know of the event that has the label. */
  of(view: number, kind: KeyKind, text: string, label?: string, isOpen = true): number {
    const remembered = this.#remembered.get(kind)!;
    const name = `${view} ${text}`;
    let known = remembered.get(name);
    if (known === undefined) {
      if (remembered.size >= REMEMBERED_MAX) remembered.clear();
      remembered.set(name, (known = this.#findOrAdd(view, kind, text)));
    }
    if (label !== undefined && (known.label !== label || (isOpen && known.openLabel !== label))) {
      known.label = label;
      if (isOpen) known.openLabel = label;
      this.#relabel.run(label, known.openLabel ?? null, known.key);
    }
    return known.key;
  }

  forget(): void {
    for (const remembered of this.#remembered.values()) remembered.clear();
  }

  #findOrAdd(view: number, kind: KeyKind, text: string): Key {
    const place = KEY_KINDS.indexOf(kind);
    const row = this.#find.get(view, place, text);
    if (row !== undefined) {
      return {
        key: numberOf(row, 'key'),
        label: textOrNone(row, 'label'),
        openLabel: textOrNone(row, 'open_label'),
      };
    }
    const { lastInsertRowid } = this.#insert.run(view, place, text);
    return { key: Number(lastInsertRowid), label: undefined, openLabel: undefined };
  }
}
