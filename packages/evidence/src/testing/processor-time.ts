// How long work keeps the processor busy: what a claim about speed is held to, because how long it takes by the clock
// says as much about the other load of the machine.

/** Milliseconds of this thread's time. */
export function processorMs(work: () => void): number {
  const before = process.threadCpuUsage();
  work();
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1000;
}
