// Which attempts of a job count: those since it last came further. A long job is claimed again after each end of its process, and comes
// further each time; one that ends its process always at the same place does not, and is given up.

import { parseJson } from '@tallystick/evidence';
import type { Job } from './jobs.ts';

/** Members of what a job tells of its progress. */
export interface Reached {
  /** The furthest place of all attempts. */
  readonly furthest: number;
  /** The attempts before the one that has come there. */
  readonly attemptsBefore: number;
}

type Claimed = Pick<Job, 'attempts' | 'progress'>;

export class Reach {
  readonly #attempts: number;
  readonly #step: number;
  #reached: Reached;

  /** What is nearer than `step` is not further. */
  constructor(job: Claimed, step: number) {
    this.#attempts = job.attempts;
    this.#step = step;
    this.#reached = reachedIn(job);
  }

  at(place: number): Reached {
    if (place >= this.#reached.furthest + this.#step)
      this.#reached = { furthest: place, attemptsBefore: this.#attempts - 1 };
    return this.#reached;
  }
}

export function attemptsHere(job: Claimed): number {
  return job.attempts - reachedIn(job).attemptsBefore;
}

function reachedIn({ progress, attempts }: Claimed): Reached {
  const told = progress === undefined ? {} : (parseJson(progress) as Partial<Reached>);
  const { furthest = 0, attemptsBefore = 0 } = told;
  // A dead letter that is tried again begins to count anew.
  return { furthest, attemptsBefore: attemptsBefore < attempts ? attemptsBefore : 0 };
}
