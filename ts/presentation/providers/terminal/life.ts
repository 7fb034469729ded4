/**
 * How long a request may hold the terminal.
 *
 * @module
 */

import type { PresentationResult } from '../../common.ts'
import { CANCELLED, EXPIRED } from '../contract.ts'

/** Ends a dialogue early. */
export class Stop extends Error {
  readonly result: PresentationResult<never>

  constructor(result: PresentationResult<never>) {
    super('the dialogue was stopped')
    this.result = result
  }
}

/** How long a request lives: until one of its signals aborts or its deadline passes. */
export class Life {
  readonly ended: Promise<void>
  over: PresentationResult<never> | undefined
  readonly #signals: readonly AbortSignal[]
  readonly #cancel: () => void
  #timer: NodeJS.Timeout | undefined

  /** @param expiresAt - In milliseconds since 1970. */
  constructor(signals: readonly AbortSignal[], expiresAt: number | undefined) {
    const ended = Promise.withResolvers<void>()
    const end = (result: PresentationResult<never>): void => {
      this.over ??= result
      ended.resolve()
    }
    this.ended = ended.promise
    this.#signals = signals
    this.#cancel = () => end(CANCELLED)
    for (const signal of signals) signal.addEventListener('abort', this.#cancel, { once: true })
    if (signals.some(({ aborted }) => aborted)) end(CANCELLED)
    if (expiresAt !== undefined) this.#wait(expiresAt, () => end(EXPIRED))
  }

  close(): void {
    clearTimeout(this.#timer)
    for (const signal of this.#signals) signal.removeEventListener('abort', this.#cancel)
  }

  /** In pieces, because a timer takes 2^31 - 1 ms at most. */
  #wait(at: number, expire: () => void): void {
    const left = at - Date.now()
    if (left <= 0) {
      expire()
      return
    }
    this.#timer = setTimeout(() => this.#wait(at, expire), Math.min(left, 2 ** 31 - 1))
  }
}
