/**
 * One request in the hands of one provider, as the Host hands it out. In process and attached providers take the same.
 *
 * @module
 */

import type { PresentationKind } from './common.ts'
import { PresentationError } from './errors.ts'
import type { PresentationErrorCode } from './errors.ts'
import type { DataRecord } from './snapshot.ts'

/** Why a provider loses a request. */
export type Withdrawal = 'cancelled' | 'expired' | 'transferred'

/** One request in the hands of one provider. Each answer gives the code with which the Host refused it, if it did. */
export interface Offer {
  readonly kind: PresentationKind
  readonly request: DataRecord
  /** The request's JSON. */
  readonly text: string
  /** The bound scope's invocation. */
  readonly invocationId: string
  /** Aborts with the withdrawal. */
  readonly signal: AbortSignal
  /** Called at most once, when the request is no longer the provider's. */
  onWithdraw(listener: (reason: Withdrawal) => void): void
  /** Asks whether the request may be shown. */
  present(): PresentationErrorCode | undefined
  /** Gives the request back. */
  release(): PresentationErrorCode | undefined
  /** Announces progress; throws what is wrong with it. */
  progress(value: unknown): void
  submit(result: unknown): PresentationErrorCode | undefined
  fail(error: unknown): PresentationErrorCode | undefined
}

/** Where the Host hands requests to. */
export interface ProviderPort {
  offer(offer: Offer): void
}

/** What a provider's signal aborts with. */
export function reasonOf(withdrawal: Withdrawal): PresentationError {
  switch (withdrawal) {
    case 'cancelled': return new PresentationError('request-cancelled', 'the presentation request was cancelled')
    case 'expired': return new PresentationError('request-expired', 'the presentation request expired')
    case 'transferred': return new PresentationError('authority-conflict', 'the presentation request moved to another provider')
  }
}
