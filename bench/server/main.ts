/** The server process: one Host with one arm, driven by `harness/rig.ts`. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { getHeapStatistics } from 'node:v8'

import type { Turn } from '../harness/turn.ts'
import { serve } from '../harness/rpc.ts'
import { mount } from './arms.ts'
import type { Arm, Limits } from './arms.ts'
import { DirectDriver } from './direct.ts'
import { bootHost } from './host.ts'

/** Memory after a full collection, in bytes. */
export interface MemoryUse {
  readonly rss: number
  /** Live JavaScript objects, and what they hold outside the heap (Buffers). */
  readonly heapAndExternal: number
  /** Live JavaScript objects, and all private memory that is not V8's heap: what native code allocates shows here. */
  readonly heapAndNative: number
}

export interface ServerOptions {
  readonly arm: Arm
  readonly limits: Limits
}

export type ServerMethods = {
  /** Boots and mounts; resolves with the port. */
  start(options: ServerOptions): Promise<number>
  /** Drives turns in process (the arm without a gateway). */
  run(lanes: readonly (readonly Turn[])[]): Promise<{ wallMs: number }>
  /** Waits until every agent is idle and its log is on disk. */
  settle(): Promise<void>
  /** Collects garbage, then measures. */
  memory(): Promise<MemoryUse>
}

const home = mkdtempSync(join(tmpdir(), 'dsh-ag-ui-bench-'))
process.once('exit', () => rmSync(home, { recursive: true, force: true }))

let ctx: Awaited<ReturnType<typeof bootHost>>
let driver: DirectDriver

async function start({ arm, limits }: ServerOptions): Promise<number> {
  ctx = await bootHost(home)
  await mount(arm, ctx, home, limits)
  driver = new DirectDriver(ctx, home)
  return ctx.webServer.port
}

async function settle(): Promise<void> {
  await Promise.all(ctx.agents.list().map(async agent => {
    await agent.whenIdle()
    await ctx.sessions.flush(agent.session)
  }))
}

async function memory(): Promise<MemoryUse> {
  await settle()
  if (gc === undefined) throw new Error('start the server with --expose-gc')
  for (let pass = 0; pass < 3; pass++) await gc({ type: 'major', execution: 'async' })
  const { rss, heapUsed, external } = process.memoryUsage()
  const { total_physical_size: heapResident } = getHeapStatistics()
  return {
    rss,
    heapAndExternal: heapUsed + external,
    heapAndNative: heapUsed + anonymousMemory() - heapResident,
  }
}

/** Resident private memory, in bytes. */
function anonymousMemory(): number {
  const match = /^RssAnon:\s+(\d+) kB$/m.exec(readFileSync('/proc/self/status', 'utf8'))
  return Number(match?.[1]) * 1024
}

serve({ start, run: lanes => driver.run(lanes), settle, memory } satisfies ServerMethods)
