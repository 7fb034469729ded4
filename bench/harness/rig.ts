/** One arm under measurement: a fresh server process, the shared client process, and the CPU clock between them. */
import { HEADERS, ROUTE } from '../server/arms.ts'
import type { Arm, Limits } from '../server/arms.ts'
import type { MemoryUse, ServerMethods } from '../server/main.ts'
import type { ClientMethods, PostRequest, Reply } from './client.ts'
import { readCpu } from './cpu.ts'
import { Child } from './rpc.ts'
import { bodyOf } from './turn.ts'
import type { Turn } from './turn.ts'

export type Client = Child<ClientMethods>

/** Starts the client process. */
export function startClient(): Client {
  return new Child<ClientMethods>(new URL('client.ts', import.meta.url))
}

/** What one batch of turns cost. */
export interface Batch {
  /** CPU of the server process, milliseconds. */
  readonly cpuMs: number
  /** Of that, the main thread. */
  readonly mainMs: number
  readonly wallMs: number
  /** Empty for the arm without a gateway. */
  readonly replies: readonly Reply[]
}

export class Rig {
  readonly arm: Arm
  readonly #server: Child<ServerMethods>
  readonly #client: Client
  readonly #url: string

  private constructor(arm: Arm, server: Child<ServerMethods>, client: Client, port: number) {
    this.arm = arm
    this.#server = server
    this.#client = client
    this.#url = `http://127.0.0.1:${port}${ROUTE}`
  }

  static async start(arm: Arm, limits: Limits, client: Client): Promise<Rig> {
    const server = new Child<ServerMethods>(new URL('../server/main.ts', import.meta.url), { nodeFlags: ['--expose-gc'] })
    try {
      return new Rig(arm, server, client, await server.call('start', { arm, limits }))
    } catch (error) {
      await server.stop()
      throw error
    }
  }

  /** Runs lanes at once, turns of a lane one after another. Every run must succeed. */
  async run(lanes: readonly (readonly Turn[])[], reading: PostRequest['reading'] = 'count'): Promise<Batch> {
    const batch = await this.attempt(lanes, reading)
    for (const { status, terminal } of batch.replies) {
      if (status !== 200 || terminal !== 'RUN_FINISHED') throw new Error(`${this.arm}: a run failed: ${status} ${terminal}`)
    }
    return batch
  }

  /** Like {@link run}, but leaves it to the caller to judge the replies. */
  async attempt(lanes: readonly (readonly Turn[])[], reading: PostRequest['reading'] = 'count'): Promise<Batch> {
    const before = readCpu(this.#server.pid)
    const { wallMs, replies } = this.arm === 'direct'
      ? { ...await this.#server.call('run', lanes), replies: [] }
      : await this.#client.call('post', { url: this.#url, headers: HEADERS, lanes: lanes.map(lane => lane.map(bodyOf)), reading })
    await this.#server.call('settle', undefined)
    const after = readCpu(this.#server.pid)
    return { cpuMs: (after.process - before.process) / 1e6, mainMs: (after.main - before.main) / 1e6, wallMs, replies }
  }

  /** Memory of the server after a full garbage collection. Also makes arms start a batch from equal heaps. */
  memory(): Promise<MemoryUse> {
    return this.#server.call('memory', undefined)
  }

  stop(): Promise<void> {
    return this.#server.stop()
  }
}
