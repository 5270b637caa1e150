// The docs of a portion, column by column, as they are sent.

import { bigints, byteas, integers, smallints, texts } from '../connection/binary-arrays.ts';
import type { Document } from '../../event-index/document.ts';
import { TermVectors } from './term-vector.ts';

export interface Doc {
  /** The place of its view. */
  readonly view: number;
  readonly index: number;
  readonly eventId: Uint8Array;
  readonly document: Document;
  readonly classification: number;
  readonly kind: number;
  readonly action: string;
  readonly resourceType: string;
}

export class DocColumns {
  readonly #docs: Doc[] = [];
  readonly #vectors = new TermVectors();

  get isEmpty(): boolean {
    return this.#docs.length === 0;
  }

  /** `prefix` is what the terms of the view begin with. True if the doc has more terms than can be held. */
  add(doc: Doc, prefix: string): boolean {
    this.#docs.push(doc);
    return this.#vectors.add(doc.document, prefix);
  }

  views(): number[] {
    return this.#docs.map(({ view }) => view);
  }

  /** In the order of the columns of docs, behind the tenant and the generation. */
  take(): Uint8Array[] {
    const docs = this.#docs;
    return [
      bigints(docs.map(({ index }) => index)),
      byteas(docs.map(({ eventId }) => eventId)),
      bigints(docs.map(({ document }) => document.atMs)),
      integers(docs.map(({ document }) => document.atNs)),
      smallints(docs.map(({ classification }) => classification)),
      smallints(docs.map(({ kind }) => kind)),
      smallints(docs.map(({ document }) => document.outcome)),
      smallints(docs.map(({ document }) => document.actorType)),
      texts(docs.map(({ action }) => action)),
      texts(docs.map(({ document }) => document.actor)),
      texts(docs.map(({ resourceType }) => resourceType)),
      this.#vectors.take(),
    ];
  }
}
