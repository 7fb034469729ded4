/**
 * Drives the Host's machine: one text in, one text out, effects carried out in order, timers kept.
 *
 * @module
 */

import { createPresentationMachine } from 'dsh-ag-ui/native'
import type { PresentationMachine } from 'dsh-ag-ui/native'
import { ActiveOffer } from './active-offer.ts'
import type { PresentationKind, PresentationResult } from './common.ts'
import { PresentationError, PresentationTypeError, codeOf, errorFrom, typeErrorFrom } from './errors.ts'
import type { PresentationErrorCode } from './errors.ts'
import type { ProviderPort, Withdrawal } from './offer.ts'
import type { DataRecord } from './snapshot.ts'
import { snapshot } from './snapshot.ts'
import type { CrossingResult } from './validation.ts'
import { crossingResult, requestLabel, trust } from './validation.ts'

type Status = 'submitted' | 'cancelled' | 'expired' | 'unavailable' | 'failed'

type Effect =
  | readonly ['offer', request: number, provider: number, epoch: number]
  | readonly ['withdraw', request: number, epoch: number, reason: Withdrawal]
  | readonly ['settle', request: number, status: Status, detail: string | null]
  | readonly ['progress', request: number]
  | readonly ['released', request: number, provider: number]
  | readonly ['unbound', invocation: number, code: PresentationErrorCode]

type Answer = readonly [due: number, value: unknown, effects: readonly Effect[]]

type Admitted = readonly [key: number, operation: string, novelty: 'new' | 'joined', rewritten: DataRecord | null]

/** Longest delay that a timer takes. */
const MAX_DELAY = 0x7fff_ffff

const RECEIPT = Object.freeze({ status: 'submitted', value: Object.freeze({ accepted: true }) }) as PresentationResult<never>

/** What the Host around the driver decides and wants to know. */
export interface DriverHooks {
  /** Who takes a released request over. */
  reassign(entry: Entry, provider: number): number | undefined
  /** An invocation lost its binding. */
  unbound(invocation: number, code: PresentationErrorCode): void
  /** A provider broke the protocol. */
  report(error: unknown, provider: number, entry: Entry): void
  /** A request changed its state. */
  observe(entry: Entry, state: 'offered' | 'presented' | 'released' | Exclude<Status, 'failed'> | 'failed', provider: number | undefined): void
}

/** One call that waits for a request's result. */
interface Caller {
  resolve(result: PresentationResult<never>): void
  reject(error: unknown): void
}

/** One pending request. */
export interface Entry {
  readonly key: number
  readonly invocation: number
  readonly kind: PresentationKind
  readonly operation: string
  readonly request: DataRecord
  readonly text: string
  readonly callers: Caller[]
  held: ActiveOffer | undefined
  ready: Announcement | undefined
}

/** The one progress value of a redirect, or nothing once it cannot come any more. */
interface Announcement {
  readonly value: Promise<DataRecord | undefined>
  announce(value: DataRecord | undefined): void
}

/** A request that was asked: its result, and its progress. */
export interface Asked {
  readonly key: number
  readonly result: Promise<PresentationResult<never>>
  progress(): AsyncIterable<DataRecord>
}

/** The machine with its providers, pending requests and timer. */
export class Driver {
  readonly #machine: PresentationMachine
  readonly #hooks: DriverHooks
  readonly #providers = new Map<number, ProviderPort>()
  readonly #entries = new Map<number, Entry>()
  readonly #effects: Effect[] = []
  #draining = false
  #timer: NodeJS.Timeout | undefined
  /** When the timer fires, by `performance.now()`. */
  #at = 0
  #holding = false

  /** Throws a `TypeError` for invalid options. */
  constructor(options: string, hooks: DriverHooks) {
    try {
      this.#machine = createPresentationMachine(options)
    } catch (error) {
      throw typeErrorFrom(error)
    }
    this.#hooks = hooks
  }

  /** Calls the machine and carries out what follows. `accept` takes the value before anything is carried out. */
  call<T>(run: (machine: PresentationMachine) => string, accept?: (value: T) => void): T {
    let answer: Answer
    try {
      answer = JSON.parse(run(this.#machine)) as Answer
    } catch (error) {
      this.#take(JSON.parse(this.#machine.drain()) as Answer)
      throw errorFrom(error)
    }
    accept?.(answer[1] as T)
    this.#take(answer)
    return answer[1] as T
  }

  /** As {@link call}, giving the code of a refusal. */
  attempt(run: (machine: PresentationMachine) => string): PresentationErrorCode | undefined {
    try {
      this.call(run)
      return undefined
    } catch (error) {
      const code = codeOf(error)
      if (code === undefined) throw error
      return code
    }
  }

  /** Makes a provider known under the key that the machine gave it. */
  connect(key: number, port: ProviderPort): void {
    this.#providers.set(key, port)
  }

  /** Stops the timer; the Host has nothing left that could be due. */
  stop(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  /** Forgets a provider that the machine has detached. */
  disconnect(key: number): void {
    this.#providers.delete(key)
  }

  /** The pending request of an invocation with this id. */
  find(invocation: number, requestId: string): Entry | undefined {
    for (const entry of this.#entries.values()) {
      if (entry.invocation === invocation && entry.request.requestId === requestId) return entry
    }
    return undefined
  }

  /** Asks. Throws what is wrong with the request. */
  ask(invocation: number, kind: PresentationKind, request: DataRecord, text: string): Asked {
    const { promise, resolve, reject } = Promise.withResolvers<PresentationResult<never>>()
    let entry: Entry | undefined
    this.call<Admitted>(machine => machine.request(invocation, kind, text), ([key, operation, , rewritten]) => {
      entry = this.#entries.get(key) ?? this.#admit(key, invocation, kind, operation, request, text, rewritten)
      entry.callers.push({ resolve, reject })
    })
    const asked = entry!
    return { key: asked.key, result: promise, progress: () => progressOf(asked) }
  }

  #admit(
    key: number, invocation: number, kind: PresentationKind, operation: string, given: DataRecord, text: string, rewritten: DataRecord | null,
  ): Entry {
    let shown = { request: given, text }
    if (rewritten !== null) {
      const request = snapshot(rewritten, requestLabel(kind, given)) as DataRecord
      shown = { request, text: JSON.stringify(request) }
      trust(request, kind, shown.text)
    }
    const entry: Entry = { key, invocation, kind, operation, ...shown, callers: [], held: undefined, ready: undefined }
    if (kind === 'ExternalRedirect') entry.ready = announcement()
    this.#entries.set(key, entry)
    return entry
  }

  /** Submits a provider's result; gives the code of a refusal. */
  submit(entry: Entry, offer: ActiveOffer, result: unknown): PresentationErrorCode | undefined {
    let crossing: CrossingResult
    try {
      crossing = crossingResult(entry.request, entry.kind, result)
    } catch (error) {
      // What the provider gave is no data, or a getter of it threw: there is nothing to judge.
      const code = error instanceof PresentationTypeError ? 'invalid-answer' : 'implementation-failed'
      const refusal = this.attempt(machine => machine.fail(entry.key, offer.epoch, code))
      if (refusal !== undefined) return refusal
      this.#hooks.report(error, offer.provider, entry)
      return code
    }
    // Before the call, which settles the request; a secret is fetched from the machine instead.
    offer.submitted = (crossing.secret === undefined ? crossing.value : undefined) as PresentationResult<never> | undefined
    try {
      this.call(machine => machine.submit(entry.key, offer.epoch, crossing.text, crossing.secret))
      return undefined
    } catch (error) {
      const code = codeOf(error)
      if (code === undefined) throw error
      // Too late is nobody's fault; anything else has failed the request.
      if (code !== 'already-settled' && code !== 'authority-conflict') this.#hooks.report(error, offer.provider, entry)
      return code
    }
  }

  /** The provider's implementation failed; gives the code of a refusal. */
  fail(entry: Entry, epoch: number, provider: number, error: unknown): PresentationErrorCode | undefined {
    const refusal = this.attempt(machine => machine.fail(entry.key, epoch, codeOf(error) ?? 'implementation-failed'))
    if (refusal === undefined) this.#hooks.report(error, provider, entry)
    return refusal
  }

  /** Tells the observers. */
  observe(entry: Entry, state: Parameters<DriverHooks['observe']>[1], provider: number | undefined): void {
    this.#hooks.observe(entry, state, provider)
  }

  #take([due, , effects]: Answer): void {
    // Before the effects: what they call in turn knows later times than this answer.
    this.#schedule(due)
    this.#effects.push(...effects)
    this.#drain()
    this.#hold()
  }

  #drain(): void {
    if (this.#draining) return
    this.#draining = true
    try {
      for (let effect = this.#effects.shift(); effect !== undefined; effect = this.#effects.shift()) this.#carryOut(effect)
    } finally {
      this.#draining = false
    }
  }

  #carryOut(effect: Effect): void {
    if (effect[0] === 'unbound') return this.#hooks.unbound(effect[1], effect[2])
    const entry = this.#entries.get(effect[1])
    if (entry === undefined) return
    switch (effect[0]) {
      case 'offer': {
        const [, , provider, epoch] = effect
        const offer = new ActiveOffer(this, entry, provider, epoch)
        entry.held = offer
        this.observe(entry, 'offered', provider)
        this.#providers.get(provider)?.offer(offer)
        return
      }
      case 'withdraw':
        if (entry.held?.epoch !== effect[2]) return
        const held = entry.held
        entry.held = undefined
        return held.withdraw(effect[3])
      case 'progress':
        entry.ready?.announce(entry.held?.announced)
        return
      case 'released':
        entry.held = undefined
        return this.#reassign(entry, effect[2])
      case 'settle':
        return this.#settle(entry, effect[2], effect[3])
    }
  }

  #reassign(entry: Entry, from: number): void {
    this.observe(entry, 'released', from)
    const to = this.#hooks.reassign(entry, from)
    const refusal = to === undefined ? 'provider-unavailable' : this.attempt(machine => machine.transfer(entry.key, to))
    if (refusal !== undefined) this.attempt(machine => machine.unassigned(entry.key))
  }

  #settle(entry: Entry, status: Status, detail: string | null): void {
    this.#entries.delete(entry.key)
    const { held } = entry
    entry.held = undefined
    entry.ready?.announce(undefined)
    if (status === 'failed') {
      const error = new PresentationError(detail as PresentationErrorCode, `the presentation request failed: ${detail}`)
      for (const caller of entry.callers) caller.reject(error)
    } else {
      const result = this.#result(entry, held, status, detail)
      for (const caller of entry.callers) caller.resolve(result)
    }
    this.observe(entry, status, held?.provider)
  }

  #result(entry: Entry, held: ActiveOffer | undefined, status: Exclude<Status, 'failed'>, reason: string | null): PresentationResult<never> {
    if (status === 'unavailable') return Object.freeze(reason === null ? { status } : { status, reason })
    if (status !== 'submitted') return Object.freeze({ status })
    if (held?.submitted !== undefined) return held.submitted
    // Of several merged notifications one was shown; its receipt is the only value that all of them can have.
    if (entry.operation !== 'secret-input') return RECEIPT
    const secret = this.#machine.takeSecret(entry.key)
    return Object.freeze({ status, value: Object.freeze({ secret }) as never })
  }

  /** Sees to it that the machine is asked at the time that it named. A timer that fires before does no harm. */
  #schedule(due: number): void {
    if (due < 0) return
    const at = performance.now() + due
    if (this.#timer !== undefined && this.#at <= at) return
    clearTimeout(this.#timer)
    this.#at = at
    this.#holding = true
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      this.call(machine => machine.timeout())
    }, Math.min(due + 1, MAX_DELAY))
  }

  /** Pending requests keep the process alive, so that they get their result; an idle Host does not. */
  #hold(): void {
    const pending = this.#entries.size > 0
    if (this.#timer === undefined || pending === this.#holding) return
    this.#holding = pending
    if (pending) this.#timer.ref()
    else this.#timer.unref()
  }
}

function announcement(): Announcement {
  const { promise, resolve } = Promise.withResolvers<DataRecord | undefined>()
  return { value: promise, announce: resolve }
}

async function* progressOf(entry: Entry): AsyncGenerator<DataRecord> {
  const ready = await entry.ready?.value
  if (ready !== undefined) yield ready
}
