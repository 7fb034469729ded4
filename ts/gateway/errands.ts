/**
 * Errands: what transfers want of a thread's agent. The native gateway says when it is there.
 *
 * @module
 */

import type { HttpError } from '../native.ts'
import type { Effect } from './effects.ts'
import type { Transfer } from './transfer.ts'

/** The effects that are about errands. */
export type ErrandEffect = Extract<Effect, { readonly errand: number }>

/** An errand that has begun. */
export type ErrandWork = Exclude<ErrandEffect, { readonly type: 'refuseErrand' }>

interface Open {
  readonly transfer: Transfer
  resolve(work: ErrandWork): void
}

/** The errands of one gateway. */
export class ErrandSet {
  readonly #open = new Map<number, Open>()

  /**
   * Waits until an errand may begin.
   *
   * @throws The reason of the transfer's signal, when that aborts before.
   */
  begin(errand: number, transfer: Transfer): Promise<ErrandWork> {
    return new Promise((resolve, reject) => {
      const { signal } = transfer
      const abort = (): void => { reject(signal.reason as Error) }
      if (signal.aborted) abort()
      else signal.addEventListener('abort', abort, { once: true })
      this.#open.set(errand, {
        transfer,
        resolve: (work) => {
          signal.removeEventListener('abort', abort)
          resolve(work)
        },
      })
    })
  }

  /** The errand's transfer needs the agent no more. */
  end(errand: number): void {
    this.#open.delete(errand)
  }

  /** The native gateway has decided. */
  handle(effect: ErrandEffect): void {
    const open = this.#open.get(effect.errand)
    if (open === undefined) return
    if (effect.type !== 'refuseErrand') open.resolve(effect)
    else open.transfer.break({ status: effect.status, body: effect.body } satisfies HttpError)
  }
}
