/**
 * A request in the hands of one provider, as the driver keeps it.
 *
 * @module
 */

import type { PresentationKind, PresentationResult } from './common.ts'
import type { Driver, Entry } from './driver.ts'
import { PresentationTypeError, codeOf } from './errors.ts'
import type { PresentationErrorCode } from './errors.ts'
import { reasonOf } from './offer.ts'
import type { Offer, Withdrawal } from './offer.ts'
import type { DataRecord } from './snapshot.ts'
import { snapshot } from './snapshot.ts'

/** A request in the hands of one provider. */
export class ActiveOffer implements Offer {
  readonly provider: number
  readonly epoch: number
  /** The progress value that is being committed. */
  announced: DataRecord | undefined
  /** The result that is being committed. */
  submitted: PresentationResult<never> | undefined
  #answered = false
  readonly #driver: Driver
  readonly #entry: Entry
  #controller: AbortController | undefined
  #withdrawn: Withdrawal | undefined
  #listener: ((reason: Withdrawal) => void) | undefined

  constructor(driver: Driver, entry: Entry, provider: number, epoch: number) {
    this.#driver = driver
    this.#entry = entry
    this.provider = provider
    this.epoch = epoch
  }

  get kind(): PresentationKind { return this.#entry.kind }
  get request(): DataRecord { return this.#entry.request }
  get text(): string { return this.#entry.text }
  get invocationId(): string { return String(this.#entry.request.invocationId) }

  /** Made when somebody asks for it. */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController()
      if (this.#withdrawn !== undefined) this.#controller.abort(reasonOf(this.#withdrawn))
    }
    return this.#controller.signal
  }

  onWithdraw(listener: (reason: Withdrawal) => void): void {
    if (this.#withdrawn !== undefined) listener(this.#withdrawn)
    else this.#listener = listener
  }

  withdraw(reason: Withdrawal): void {
    this.#withdrawn = reason
    this.#listener?.(reason)
    this.#controller?.abort(reasonOf(reason))
  }

  present(): PresentationErrorCode | undefined {
    const refusal = this.#driver.attempt(machine => machine.present(this.#entry.key, this.epoch))
    if (refusal === undefined) this.#driver.observe(this.#entry, 'presented', this.provider)
    return refusal
  }

  release(): PresentationErrorCode | undefined {
    return this.#driver.attempt(machine => machine.release(this.#entry.key, this.epoch))
  }

  progress(value: unknown): void {
    const ready = snapshot(value, 'ExternalRedirect ready') as DataRecord
    this.announced = ready
    try {
      this.#driver.call(machine => machine.progress(this.#entry.key, this.epoch, JSON.stringify(ready)))
    } catch (error) {
      // Whatever is wrong with an announcement is wrong with a value.
      const code = codeOf(error)
      throw code === undefined || error instanceof TypeError ? error : new PresentationTypeError(code, (error as Error).message)
    }
  }

  submit(result: unknown): PresentationErrorCode | undefined {
    // The machine judges an answer once; a second one must not take the place of the first meanwhile.
    if (this.#answered) return 'already-settled'
    this.#answered = true
    return this.#driver.submit(this.#entry, this, result)
  }

  fail(error: unknown): PresentationErrorCode | undefined {
    return this.#driver.fail(this.#entry, this.epoch, this.provider, error)
  }
}
