// What can be proven: the public surface of the evidence package, in the order of an event's way.

export { EvidenceError, REASONS, type Reason } from './errors.ts';
export { equalBytes, fromBase64, toBase64, toHex } from './bytes.ts';

// JSON that means one thing
export { canonicalJson, isCanonicalJson } from './json/canonical-json.ts';
export { parseJson } from './json/parse-json.ts';
export { isPlainlyCanonical } from './json/plain-scan.ts';
export { canonicalBytes, type CanonicalLimits, type CanonicalText } from './json/canonical-bytes.ts';
export { countValues, type JsonCount, type UncountedMembers } from './json/count-values.ts';
export { JsonOutline } from './json/json-outline.ts';
export {
  type JsonScan,
  type JsonSyntax,
  type JsonViolation,
  scanJson,
  type ScanLimits,
} from './json/strict-json.ts';

// Hashing
export { fromHex } from './hash/from-hex.ts';
export { type RunningHash, type Sha256, sha256, Sha256Stream } from './hash/sha256.ts';
export { fastSha256 } from './hash/sha256-fast.ts';
export { ResumableSha256, type Sha256State } from './hash/resumable-sha256.ts';
export { HashPool } from './hash/hash-pool.ts';
export { HmacSha256 } from './hash/hmac-sha256.ts';

// From an event to its leaf
export { eventIdText } from './event/event-id.ts';
export { eventIdBytes } from './event/event-id-bytes.ts';
export { eventOf, type Group, groupOf, type Tag, tagOf, type Unit } from './event/units.ts';
export {
  byTag,
  type ClosedUnit,
  isWhollyOpen,
  openUnits,
  type OpenUnit,
  SALT_BYTES,
  type ShownEvent,
  type ShownGroup,
  type ShownUnit,
} from './event/shown-event.ts';
export { commitmentOf, contentOf, type ContentsOf, groupRootOf } from './event/content.ts';
export { ContentPool, pooledContentsOf } from './event/content-pool.ts';
export { type EncodedEvent, type EncodedGroup, type EncodedUnit, encodeEvent } from './event/encode-event.ts';
export { splitGroup } from './event/split-group.ts';
export { closeUnits, openEvent, openTexts, showRoots, unitsOf, withholdContent } from './event/show-event.ts';
export {
  CONTENT_AT,
  decodeEntry,
  type Entry,
  ENTRY_BYTES,
  epochGenesisHash,
  EVENT_ID_AT,
  genesisHash,
  isNotice,
  type Kind,
  KIND_AT,
  KINDS,
  PREVIOUS_AT,
  RECEIVED_AT_MS_MAX,
} from './event/entry.ts';
export { encodeEntry, type EntryLink, readLink, writeEntry } from './event/entry-bytes.ts';
export {
  ANCHOR_LOSS_ACCEPTED,
  type IndexRange,
  type Notice,
  type NoticeKind,
  type NoticePayload,
  payloadFault,
  readNotice,
} from './event/notices.ts';
export { type AcceptedAnchorLoss, acceptedAnchorLoss } from './event/anchor-loss.ts';
export { encodeNotice, type NoticeFacts } from './event/encode-notice.ts';

// The tree and its proofs
export {
  EMPTY_ROOT,
  HASH_BYTES,
  LEAF_PREFIX,
  leafHash,
  NODE_PREFIX,
  nodeHash,
  subtreesOf,
} from './tree/tree.ts';
export { CompactRange } from './tree/compact-range.ts';
export { verifyConsistency } from './tree/tree-proof.ts';
export { verifyInclusion } from './tree/verify-inclusion.ts';
export { compactRangeRoot } from './tree/range-proof.ts';
export {
  type HashReader,
  proveConsistency,
  proveInclusion,
  proveRange,
  proveRangeBetween,
  subtreeHashes,
  treeRoot,
} from './tree/prove.ts';
export {
  decodeTile,
  encodeTile,
  formatTilePath,
  type HashTile,
  parseTilePath,
  type Tile,
  TILE_HEIGHT,
  TILE_WIDTH,
  tileSizes,
  tilesOf,
  tileWidth,
} from './tree/tiles.ts';
export { tileHashReader, TileMemory, type TileReader, tilesRead } from './tree/tile-reader.ts';
export { decodeEntryBundle, encodeEntryBundle } from './tree/entry-bundle.ts';

// Signatures
export {
  formatVerifierKey,
  keyIdOf,
  parseVerifierKey,
  SIGNATURE_TYPES,
  type VerifierKey,
} from './note/verifier-key.ts';
export {
  type NoteSignature,
  noteVerifier,
  openNote,
  parseNote,
  type Verifier,
} from './note/note.ts';
export {
  type Checkpoint,
  formatCheckpoint,
  openCheckpoint,
  parseCheckpoint,
} from './note/checkpoint.ts';
export { epochIn, INSTALLATION, logNamed, type NamedLog, originOf } from './note/log-origin.ts';
export {
  COSIGNATURE_BYTES,
  cosignatureVerifier,
  verifyCosignatures,
} from './note/cosignature.ts';
export {
  type Cosigner,
  cosigner,
  noteSigner,
  signatureLine,
  signCheckpoint,
  type Signer,
  signNote,
} from './note/signer.ts';
export { formatTlogProof, parseTlogProof, type TlogProof, verifyTlogProof } from './note/tlog-proof.ts';

// Witnesses
export {
  type AddCheckpoint,
  formatAddCheckpoint,
  formatTreeSize,
  openCosignature,
  type OpenedCosignature,
  parseAddCheckpoint,
  type ParsedAddCheckpoint,
  parseTreeSize,
  TREE_SIZE_CONTENT_TYPE,
  withSignatures,
} from './witness/add-checkpoint.ts';
export { isQuorum, parsePolicy, type PolicyWitness, type WitnessPolicy } from './witness/policy.ts';
export {
  cosignaturesBy,
  type PolicyCosignature,
  type PolicyVerdict,
  verifyByPolicy,
} from './witness/verify-policy.ts';

// The files for a verifier, and the verdict on them
export type { Trust } from './bundle/trust.ts';
export {
  type EventProof,
  type EventVerdict,
  formatEventProof,
  formatEventProofText,
  parseEventProof,
  verifyEventProof,
} from './bundle/event-proof.ts';
export { BUNDLE_FORMAT, type BundleHeader, type Deleted, type EntryLine } from './bundle/bundle-line.ts';
export { BundleWriter, formatEntryLine } from './bundle/bundle-writer.ts';
export {
  type BundleVerdict,
  BundleVerifier,
  type HostHashing,
  verifyBundle,
} from './bundle/verify-bundle.ts';

// The archive of an export: data, bundle and manifest
export { type ExportHashing, type ExportVerdict, verifyExport } from './export/verify-export.ts';
export { columnName, contentCell, type ContentPath } from './export/content-columns.ts';
export { formatManifest, manifestText } from './export/format-manifest.ts';
export { type ChainedFile, type ChainVerdict, verifyChain } from './export/verify-chain.ts';
export {
  type ExportArchive,
  MANIFEST_FORMAT,
  type Manifest,
  MANIFEST_NAME,
  PAGE_NAME,
} from './export/manifest.ts';
export { type ArchiveBytes, ZipArchive } from './export/zip-archive.ts';
export {
  bundleVerdictRows,
  checkpointRows,
  exportVerdictRows,
  historyRows,
  refusalRows,
  type VerdictRow,
} from './export/verdict-rows.ts';
export { verifierPage } from './page/markup.ts';

// The rules of that verdict, for the verifier of a whole store
export { Deletions } from './bundle/deletions.ts';
export { type EpochBeginning, readEpochBeginning } from './bundle/epoch.ts';
export { readNoticeAndKeys } from './bundle/notice-keys.ts';
export { PurgedSubtrees } from './bundle/purged-subtrees.ts';
