// The interfaces of the protocols as files, below interfaces/: what programs are made from, so each is committed and
// frozen. The test beside this file holds each file against its text here, and refuses a change that breaks clients.

export interface CommittedInterface {
  readonly text: () => string;
  /** What clients of the committed text would trip over. Absent: only a test can say, by the parser of its format. */
  readonly breaks?: (committed: string, text: string) => string[];
}

/** Each file below packages/contract/interfaces. */
export const INTERFACES: Readonly<Record<string, CommittedInterface>> = {};
