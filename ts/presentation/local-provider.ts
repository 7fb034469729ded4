/**
 * A provider in this process: offers become calls of its implementations.
 *
 * @module
 */

import { markHost } from './binder.ts'
import { API_VERSION } from './common.ts'
import type { PresentationKind } from './common.ts'
import { PresentationError, PresentationTypeError } from './errors.ts'
import type { CapabilityBinding, CapabilityHandlerContext, CapabilityImplementation } from './model.ts'
import type { Offer, ProviderPort } from './offer.ts'

/** What a handler of ours is given: it can show explicitly and give a request back. */
export interface PresentationHandlerContext<Progress = unknown> extends CapabilityHandlerContext<Progress> {
  /**
   * Asks whether the request may be shown; `false` means that it is over or in other hands. Needed by providers that
   * present explicitly; for others the request counts as shown when it is offered.
   */
  present(): Promise<boolean>
  /** Gives the request back unanswered. What the handler returns afterwards is ignored. */
  release(): void
}

/** The operation names on the wire. */
export const WIRE_OPERATIONS: Readonly<Record<PresentationKind, string>> = Object.freeze({
  OpenExternal: 'openExternal',
  CopyText: 'copyText',
  Notification: 'notify',
  UserInteraction: 'interact',
  ExternalRedirect: 'receive',
})

/** Implementations by kind. Throws a `TypeError` for one of another protocol, and for two of one kind. */
export function byKind(implementations: readonly CapabilityImplementation[]): Map<PresentationKind, CapabilityImplementation> {
  const found = new Map<PresentationKind, CapabilityImplementation>()
  for (const implementation of implementations) {
    const { apiVersion, kind } = implementation.protocol
    if (apiVersion !== API_VERSION || !Object.hasOwn(WIRE_OPERATIONS, kind)) {
      throw new PresentationTypeError('invalid-request', `Presentation implementation of ${apiVersion} ${kind} is not a presentation protocol`)
    }
    if (found.has(kind as PresentationKind)) {
      throw new PresentationTypeError('invalid-request', `Presentation implementation of ${kind} is a duplicate`)
    }
    found.set(kind as PresentationKind, implementation)
  }
  return found
}

/** Hands offers to implementations. */
export class LocalProvider implements ProviderPort {
  implementations: ReadonlyMap<PresentationKind, CapabilityImplementation>
  readonly #bindingOf: (offer: Offer) => CapabilityBinding

  constructor(
    implementations: ReadonlyMap<PresentationKind, CapabilityImplementation>,
    bindingOf: (offer: Offer) => CapabilityBinding,
  ) {
    this.implementations = implementations
    this.#bindingOf = bindingOf
  }

  offer(offer: Offer): void {
    const implementation = this.implementations.get(offer.kind)
    if (implementation === undefined) {
      offer.fail(new PresentationError('not-negotiated', `${offer.kind} is not implemented`))
      return
    }
    const context = this.#context(offer)
    void run(implementation, offer, context)
  }

  #context(offer: Offer): PresentationHandlerContext {
    const bindingOf = this.#bindingOf
    // Own accessors, so that a handler's wrapper may spread the context.
    const context = {
      connectionId: 'in-process',
      planRevision: 1,
      invocationId: offer.invocationId,
      get binding() { return bindingOf(offer) },
      get signal() { return offer.signal },
      progress: (value: unknown) => { offer.progress(value) },
      present: () => Promise.resolve(offer.present() === undefined),
      release: () => { offer.release() },
    }
    markHost(context)
    return context
  }
}

async function run(implementation: CapabilityImplementation, offer: Offer, context: PresentationHandlerContext): Promise<void> {
  let result: unknown
  try {
    result = await implementation.handle(WIRE_OPERATIONS[offer.kind], offer.request, context)
  } catch (error) {
    offer.fail(error)
    return
  }
  offer.submit(result)
}
