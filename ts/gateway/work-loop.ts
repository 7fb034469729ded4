/**
 * When the native gateway's work is done: what it asks in a microtask, agents one a turn of the event loop, its next
 * timeout by one timer.
 *
 * @module
 */

import type { NativeGateway } from '../native.ts'

/** Bits of what there is to do, as the native class documents them. */
const EFFECTS = 1, READERS = 2, DRIVE = 4, TIMER = 8

/** The work itself. */
export interface Work {
  /** Carries out what the native gateway asks of the Host. */
  effects(): void
  /** Writes what its responses have. */
  readers(): void
}

/** The loop of one gateway. */
export class WorkLoop {
  readonly #native: NativeGateway
  readonly #work: Work
  #scheduled = false
  #driving = false
  #timer: { clear(): void } | undefined

  constructor(native: NativeGateway, work: Work) {
    this.#native = native
    this.#work = work
  }

  /**
   * Schedules what a call to the native class left to do. The work runs in a microtask: a call may come from inside
   * the Host's own publishing, where its agents take no orders, and what one turn of the Host produced goes out as
   * one write.
   */
  after(todo: number): void {
    // Agents that wait for their turn of the loop stay in the bits of every delta until they have had it.
    if (todo & DRIVE) this.#driveLater()
    if ((todo & ~DRIVE) === 0 || this.#scheduled) return
    this.#scheduled = true
    queueMicrotask(() => {
      this.#scheduled = false
      this.drain()
    })
  }

  /** Does everything that can be done at once. */
  drain(): void {
    let todo = this.#native.todo()
    while ((todo & (EFFECTS | READERS)) !== 0) {
      if (todo & EFFECTS) this.#work.effects()
      if (todo & READERS) this.#work.readers()
      todo = this.#native.todo()
    }
    if (todo & DRIVE) this.#driveLater()
    if (todo & TIMER) this.#setTimer()
  }

  /** Nothing is left to wait for. */
  stop(): void {
    this.#timer?.clear()
  }

  /** One agent a turn of the loop: what is decided goes out before a model that never yields starts. */
  #driveLater(): void {
    if (this.#driving) return
    this.#driving = true
    setImmediate(() => {
      this.#driving = false
      this.#native.driveNext()
      this.drain()
    })
  }

  #setTimer(): void {
    this.#timer?.clear()
    const ms = this.#native.nextTimeout()
    if (ms < 0) return
    const fire = (): void => {
      this.#timer = undefined
      this.#native.timeout()
      this.drain()
      // The native class compares with the timer that is set; none is now.
      if (this.#timer === undefined) this.#setTimer()
    }
    if (ms === 0) {
      const immediate = setImmediate(fire)
      this.#timer = { clear: () => { clearImmediate(immediate) } }
    } else {
      const timeout = setTimeout(fire, Math.ceil(ms))
      timeout.unref()
      this.#timer = { clear: () => { clearTimeout(timeout) } }
    }
  }
}
