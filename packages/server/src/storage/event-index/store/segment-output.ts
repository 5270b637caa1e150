// A segment on its way into the store: its blocks, compressed and encrypted, are put there some at a time, the footer last. It is
// nobody's until a manifest lists it.

import type { TenantId } from '@tallystick/contract';
import { BLOCKS_MAX, FOOTER_BLOCK, type Footer } from '../segments/segment-format.ts';
import type { Section } from '../segments/terms.ts';
import { encodeBlock, type Encryption } from './block-codec.ts';
import type { SegmentStore, StoredBlock } from './segment-store.ts';

/** Of blocks that wait until they are put, or compared, together. */
export const BYTES_WAITING_MAX = 2 * 1024 * 1024;

export interface OutputParts extends Encryption {
  readonly store: Pick<SegmentStore, 'put'>;
  readonly blocksMax?: number;
}

export class SegmentOutput {
  readonly id: number;
  readonly #tenant: TenantId;
  readonly #parts: OutputParts;
  #next = FOOTER_BLOCK + 1;
  #waiting: StoredBlock[] = [];
  #bytes = 0;

  constructor(tenant: TenantId, id: number, parts: OutputParts) {
    this.#tenant = tenant;
    this.id = id;
    this.#parts = parts;
  }

  readonly take = (raw: Buffer, section?: Section): number => {
    const block = this.#next++;
    // A number beyond would be one of another segment.
    if (block >= (this.#parts.blocksMax ?? BLOCKS_MAX))
      throw new Error(`segment ${this.id} of the index has too many blocks`);
    this.#add(block, raw, section);
    return block;
  };

  get isFull(): boolean {
    return this.#bytes >= BYTES_WAITING_MAX;
  }

  async flush(): Promise<void> {
    const blocks = this.#waiting;
    this.#waiting = [];
    this.#bytes = 0;
    if (blocks.length > 0) await this.#parts.store.put(this.#tenant, this.id, blocks);
  }

  async end(footer: Footer): Promise<void> {
    this.#add(FOOTER_BLOCK, footerBytes(this.#tenant, footer), undefined);
    await this.flush();
  }

  #add(block: number, raw: Buffer, section: Section | undefined): void {
    const place = { tenant: this.#tenant, segment: this.id, block, section };
    const bytes = encodeBlock(raw, place, this.#parts);
    this.#waiting.push({ block, bytes });
    this.#bytes += bytes.length;
  }
}

/** It also says whose it is. */
export function footerBytes(tenant: TenantId, footer: Footer): Buffer {
  return Buffer.from(JSON.stringify({ ...footer, tenant }));
}
