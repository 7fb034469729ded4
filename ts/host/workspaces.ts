/**
 * Threads as workspaces of the Host's web interface, where the Host has one (G5, host-api §3.15).
 *
 * @module
 */

import type { Context } from '@deepseek-ai/cordis'
import { errorLabel } from './error.ts'
import type { HostLogger } from './error.ts'

/** The part of the Host's `workspaceRegistry` that we use. */
interface WorkspaceRegistry {
  create(path: string): Promise<{ attachSession(sessionId: string): unknown }>
}

/**
 * Registers each thread's directory and groups its session under it. Nothing here can fail a thread: the Host's web
 * interface then shows the session ungrouped.
 */
export class Workspaces {
  readonly #ctx: Context
  readonly #logger: HostLogger
  /** Live sessions by id, with their directory. */
  readonly #sessions = new Map<string, string>()
  readonly #work = new Map<string, Promise<void>>()

  constructor(ctx: Context, logger: HostLogger) {
    this.#ctx = ctx
    this.#logger = logger
    // The registry activates after the web server, and may be reloaded: whoever lives then is registered then.
    ctx.inject(['workspaceRegistry'], () => {
      for (const sessionId of this.#sessions.keys()) this.#register(sessionId)
    })
  }

  /**
   * Registers a live session, now or when the registry appears.
   *
   * @param sessionId - A live session.
   * @param path - Its working directory; exists.
   */
  add(sessionId: string, path: string): void {
    this.#sessions.set(sessionId, path)
    this.#register(sessionId)
  }

  /** Lets go of a session and waits for work that was begun for it. The workspace stays, as the session does. */
  async release(sessionId: string): Promise<void> {
    this.#sessions.delete(sessionId)
    await this.#work.get(sessionId)
  }

  #register(sessionId: string): void {
    const path = this.#sessions.get(sessionId)
    const registry = this.#ctx.get('workspaceRegistry') as WorkspaceRegistry | undefined
    if (path === undefined || registry === undefined || this.#work.has(sessionId)) return
    const work = this.#attach(registry, sessionId, path).finally(() => this.#work.delete(sessionId))
    this.#work.set(sessionId, work)
  }

  async #attach(registry: WorkspaceRegistry, sessionId: string, path: string): Promise<void> {
    try {
      const workspace = await registry.create(path)
      await workspace.attachSession(sessionId)
    } catch (error) {
      this.#logger.warn(`session "${sessionId}" is not grouped under a workspace: ${errorLabel(error)}`)
    }
  }
}
