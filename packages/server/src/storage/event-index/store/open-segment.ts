// Opens a segment of the store by its footer, which says what it is and whose.

import type { TenantId } from '@tallystick/contract';
import { parseJson } from '@tallystick/evidence';
import { type Blocks, Segment } from '../segments/segment.ts';
import { FOOTER_BLOCK, type Footer, FORMAT } from '../segments/segment-format.ts';
import type { Section } from '../segments/terms.ts';
import { validateFooter } from '../segments/validate-footer.ts';
import { DamagedSegment, decodeOrDamaged } from './block-cache.ts';
import type { BlockKeys } from './block-codec.ts';
import type { ListedSegment } from './manifest.ts';
import type { SegmentStore } from './segment-store.ts';

/** A footer as it is stored: it also says whose it is. */
type StoredFooter = Footer & { readonly tenant: TenantId };

function footerIn(raw: Buffer): StoredFooter {
  const footer = parseJson(raw.toString('utf8')) as StoredFooter;
  if (footer.format !== FORMAT) throw new Error(`a segment of the index has the format ${footer.format}`);
  validateFooter(footer);
  return footer;
}

/** Throws DamagedSegment where it is not what a manifest lists; so does all that is read of it. */
export async function openSegment(
  tenant: TenantId,
  { id, firstIndex, docs }: ListedSegment,
  blocks: Blocks,
): Promise<Segment> {
  const footer = await blocks.read(FOOTER_BLOCK, undefined, footerIn);
  const isListed = footer.tenant === tenant && footer.firstIndex === firstIndex && footer.docs === docs;
  if (!isListed) throw new DamagedSegment(id, FOOTER_BLOCK);
  return new Segment(footer, blocks, (cause) => new DamagedSegment(id, undefined, cause));
}

/** For one who goes through all of it once. */
export async function openUncached(
  tenant: TenantId,
  listed: ListedSegment,
  store: Pick<SegmentStore, 'get'>,
  keys: BlockKeys,
): Promise<Segment> {
  const segment = listed.id;
  const read = async <T>(block: number, section: Section | undefined, decode: (raw: Buffer) => T) => {
    const [stored] = await store.get(tenant, [{ segment, block }]);
    if (stored === undefined) throw new DamagedSegment(segment, block);
    return decodeOrDamaged(stored, { tenant, segment, block, section }, keys, decode).value;
  };
  return openSegment(tenant, listed, { read });
}
