/** The live threads of the gateway, by (tenant, user, thread). */
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'

import type { Context } from '@deepseek-ai/cordis'
import { SessionId } from '@deepseek-ai/dsh-session'

import type { BaselineConfig } from './config.ts'
import { sha256 } from './digest.ts'
import { GatewayError } from './errors.ts'
import type { Principal } from './request.ts'
import { Thread } from './thread.ts'

interface Entry {
  readonly thread: Promise<Thread>
  idle: NodeJS.Timeout | undefined
}

export class Threads {
  readonly #ctx: Context
  readonly #config: BaselineConfig
  readonly #entries = new Map<string, Entry>()

  constructor(ctx: Context, config: BaselineConfig) {
    this.#ctx = ctx
    this.#config = config
  }

  /** The thread of a principal, created by its first request. */
  async open({ tenant, user }: Principal, threadId: string): Promise<Thread> {
    const key = JSON.stringify([tenant, user, threadId])
    let entry = this.#entries.get(key)
    if (entry === undefined) {
      if (this.#entries.size >= this.#config.maxThreads) {
        throw new GatewayError(429, 'THREAD_LIMIT_REACHED', 'too many live threads')
      }
      entry = { thread: this.#create(sha256(key)), idle: undefined }
      this.#entries.set(key, entry)
      entry.thread.catch(() => this.#entries.delete(key))
    }
    const thread = await entry.thread
    this.#postponeExpiry(key, entry, thread)
    return thread
  }

  async dispose(): Promise<void> {
    const entries = [...this.#entries.values()]
    this.#entries.clear()
    for (const entry of entries) clearTimeout(entry.idle)
    await Promise.allSettled(entries.map(async entry => (await entry.thread).dispose()))
  }

  async #create(sessionId: string): Promise<Thread> {
    const cwd = join(this.#config.workspaceRoot, sessionId)
    await mkdir(cwd, { recursive: true })
    const handle = await this.#ctx.agents.create({
      sessionId: SessionId(sessionId),
      agentOptions: { provider: this.#config.provider, model: this.#config.model },
      meta: { cwd },
    })
    return new Thread(handle, this.#ctx.tools, this.#config)
  }

  #postponeExpiry(key: string, entry: Entry, thread: Thread): void {
    if (entry.idle !== undefined) {
      entry.idle.refresh()
      return
    }
    entry.idle = setTimeout(() => {
      if (thread.isBusy) {
        entry.idle?.refresh()
        return
      }
      this.#entries.delete(key)
      thread.dispose().catch((error: unknown) => this.#ctx.logger.warn('cannot dispose a thread: %o', error))
    }, this.#config.threadIdleMs).unref()
  }
}
