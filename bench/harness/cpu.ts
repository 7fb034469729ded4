/** CPU time of another process, in nanoseconds, from `/proc`. */
import { readFileSync, readdirSync } from 'node:fs'

export interface CpuTime {
  /** All threads that are alive. */
  readonly process: number
  /** The main thread: where JavaScript runs. */
  readonly main: number
}

/**
 * Reads how long the threads of a process have run. `schedstat` counts nanoseconds (`stat` counts ticks of 10 ms);
 * it is exact for a thread that sleeps, so read it while the process is idle.
 */
export function readCpu(pid: number): CpuTime {
  let total = 0
  let main = 0
  for (const task of readdirSync(`/proc/${pid}/task`)) {
    const time = Number(readFileSync(`/proc/${pid}/task/${task}/schedstat`, 'utf8').split(' ', 1)[0])
    total += time
    if (task === String(pid)) main = time
  }
  return { process: total, main }
}
