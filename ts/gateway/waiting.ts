/**
 * What the Host waits for, by token: results of browser Tools, and answers of people.
 *
 * @module
 */

import type { NativeGateway } from '../native.ts'
import type { HostToolCall, HostToolResult, PersonOutcome, PersonRequest } from '../host/port.ts'
import type { CallOutcome } from './effects.ts'

interface ParkedCall {
  readonly thread: number
  resolve(result: HostToolResult): void
  reject(error: Error): void
}

/** What waits in one gateway. */
export class Waiting {
  readonly #native: NativeGateway
  readonly #after: (todo: number) => void
  readonly #calls = new Map<number, ParkedCall>()
  readonly #requests = new Map<number, (outcome: PersonOutcome) => void>()
  #nextToken = 0

  constructor(native: NativeGateway, after: (todo: number) => void) {
    this.#native = native
    this.#after = after
  }

  /** The thread of a call that waits. */
  threadOf(token: number): number | undefined {
    return this.#calls.get(token)?.thread
  }

  /**
   * Runs the body of a browser Tool.
   *
   * @throws An `Error` with what the model is told of a call that was rejected or cancelled.
   */
  async execute(thread: number, name: string, call: HostToolCall): Promise<HostToolResult> {
    const token = this.#takeToken()
    const settled = this.#native.call(thread, token, call.callId, name, JSON.stringify(call.arguments))
    this.#after(this.#native.todo())
    if (settled !== null) return resultOf(JSON.parse(settled) as CallOutcome)
    return await new Promise((resolve, reject) => {
      const aborted = (): void => {
        if (!this.#calls.delete(token)) return
        this.#after(this.#native.callAborted(thread, token))
        reject(new Error('the call was cancelled'))
      }
      const done = (): void => { call.signal.removeEventListener('abort', aborted) }
      this.#calls.set(token, {
        thread,
        resolve: (result) => { done(); resolve(result) },
        reject: (error) => { done(); reject(error) },
      })
      if (call.signal.aborted) aborted()
      else call.signal.addEventListener('abort', aborted, { once: true })
    })
  }

  /** Settles a call. One that is over already stays as it is. */
  settle(token: number, outcome: CallOutcome): void {
    const parked = this.#calls.get(token)
    if (!this.#calls.delete(token)) return
    try {
      parked?.resolve(resultOf(outcome))
    } catch (error) {
      parked?.reject(error as Error)
    }
  }

  /** Asks the person behind a thread. Never rejects: a request that is taken back is cancelled. */
  ask(thread: number, request: PersonRequest, signal: AbortSignal): Promise<PersonOutcome> {
    if (signal.aborted) return Promise.resolve(TAKEN_BACK)
    const token = this.#takeToken()
    const settled = this.#native.ask(thread, token, JSON.stringify(request))
    this.#after(this.#native.todo())
    if (settled !== null) return Promise.resolve(JSON.parse(settled) as PersonOutcome)
    return new Promise((resolve) => {
      const aborted = (): void => {
        this.#after(this.#native.askAborted(thread, token))
        settle(TAKEN_BACK)
      }
      const settle = (outcome: PersonOutcome): void => {
        this.#requests.delete(token)
        signal.removeEventListener('abort', aborted)
        resolve(outcome)
      }
      this.#requests.set(token, settle)
      signal.addEventListener('abort', aborted, { once: true })
    })
  }

  /** Gives the answer to a request. */
  answer(token: number, outcome: PersonOutcome): void {
    this.#requests.get(token)?.(outcome)
  }

  /** A token that no call and no request to a person holds; as large as the native class takes. */
  #takeToken(): number {
    do this.#nextToken = (this.#nextToken + 1) % 2 ** 32
    while (this.#calls.has(this.#nextToken) || this.#requests.has(this.#nextToken))
    return this.#nextToken
  }
}

/** A request that the Host took back. */
const TAKEN_BACK: PersonOutcome = { status: 'cancelled', message: 'the request was aborted before the user answered' }

/** What the model sees of an outcome; a rejection is thrown. */
function resultOf(outcome: CallOutcome): HostToolResult {
  if (outcome.status === 'rejected') throw new Error(outcome.message)
  return { text: outcome.text, ...outcome.meta === undefined ? {} : { meta: outcome.meta } }
}
