/**
 * Which sessions the Host has stored.
 *
 * @module
 */

import type { Context } from '@deepseek-ai/cordis'
import { listStoredSessions } from './compat.ts'

/**
 * The ids of stored sessions, listed once. Asking the Host for one session that is not there costs it a look into
 * every directory that it has, and every new thread would ask. Ids are derived from the thread, so that nobody but
 * this gateway stores sessions under them.
 */
export class StoredSessions {
  readonly #ctx: Context
  #ids: Promise<Set<string>> | undefined

  constructor(ctx: Context) {
    this.#ctx = ctx
  }

  /** Whether the session may be stored. A session that never logged anything is not, whatever this says. */
  async mayHave(sessionId: string): Promise<boolean> {
    if (this.#ctx.get('sessionPersistence') === undefined) return false
    // A listing that failed is asked for again: nothing is known of what is stored.
    this.#ids ??= listStoredSessions(this.#ctx).catch((error: unknown) => {
      this.#ids = undefined
      throw error
    })
    return (await this.#ids).has(sessionId)
  }

  /** A session was created: it is stored once it logs something. */
  async add(sessionId: string): Promise<void> {
    (await this.#ids)?.add(sessionId)
  }
}
