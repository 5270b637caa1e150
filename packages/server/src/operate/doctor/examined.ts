// What an examination has found.

export interface Problem {
  readonly what: string;
  /** What to do. */
  readonly remedy: string;
}

export interface Examined {
  readonly problems: readonly Problem[];
  /** What was measured, for people. */
  readonly measured?: string;
}
