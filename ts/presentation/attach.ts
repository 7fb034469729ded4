/**
 * The provider's end of an attachment: serves implementations over a channel (spec: presentation, Connection binding; P6).
 *
 * @module
 */

import { createPresentationProviderLink } from 'dsh-ag-ui/native'
import type { AttachOptions, AttachPort, PresentationAttachment } from './attach-api.ts'
import type { PresentationKind } from './common.ts'
import { PresentationError, codeOf, errorFrom } from './errors.ts'
import { End, MAX_MESSAGE_BYTES, linkLimits, make } from './link-end.ts'
import type { Output } from './link-end.ts'
import { WIRE_OPERATIONS, byKind } from './local-provider.ts'
import type { PresentationHandlerContext } from './local-provider.ts'
import type { CapabilityBinding, CapabilityImplementation } from './model.ts'
import { reasonOf } from './offer.ts'
import { toTextPort } from './ports.ts'
import type { DataRecord } from './snapshot.ts'
import { snapshot } from './snapshot.ts'
import { checkReady, checkRequest, crossingResult } from './validation.ts'

export type * from './attach-api.ts'

/** Serves a provider over `port`. Throws a `TypeError` for invalid options. */
export function attach(port: AttachPort, options: AttachOptions): PresentationAttachment {
  return new ProviderEnd(port, options)
}

/** A request that the provider's end works on. */
interface Work {
  readonly kind: PresentationKind
  readonly controller: AbortController
  readonly presented: PromiseWithResolvers<boolean>
}

/** The end that answers. */
class ProviderEnd extends End {
  readonly #implementations: ReadonlyMap<PresentationKind, CapabilityImplementation>
  readonly #presenting: 'on-offer' | 'explicit'
  readonly #participantId: string
  readonly #work = new Map<number, Work>()

  constructor(port: AttachPort, options: AttachOptions) {
    const implementations = byKind(options.implementations)
    const supports = snapshot([...implementations.values()].map(({ protocol: { apiVersion, kind, spec } }) =>
      ({ apiVersion, kind, spec })), 'Presentation supports')
    const limits = linkLimits(options.link)
    super(
      toTextPort(port, options.link?.maxMessageBytes ?? MAX_MESSAGE_BYTES),
      make(() => createPresentationProviderLink(limits, options.participantId, JSON.stringify(supports))),
    )
    this.#implementations = implementations
    this.#presenting = options.presenting ?? 'on-offer'
    this.#participantId = options.participantId
    this.begin()
  }

  protected handle(output: Output): void {
    switch (output[0]) {
      case 'welcome':
        return this.ready()
      case 'request':
        void this.#serve(output[1], output[2], output[3])
        return
      case 'presented':
        this.#work.get(output[1])?.presented.resolve(output[2] === null)
        return
      case 'cancelled':
        return this.#drop(output[1], reasonOf(output[2]))
      case 'refused':
        // What was said last did not count. An answer is over; an announcement ends the work.
        if (this.#work.has(output[1])) this.#say(() => { this.link.fail(output[1], output[2]) })
        return this.#drop(output[1], new PresentationError(output[2], `the presentation Host refused: ${output[2]}`))
      default:
    }
  }

  #drop(id: number, reason: PresentationError): void {
    const work = this.#work.get(id)
    this.#work.delete(id)
    work?.presented.resolve(false)
    work?.controller.abort(reason)
  }

  async #serve(id: number, kind: PresentationKind, input: DataRecord): Promise<void> {
    const implementation = this.#implementations.get(kind)
    const work: Work = { kind, controller: new AbortController(), presented: Promise.withResolvers<boolean>() }
    this.#work.set(id, work)
    try {
      if (implementation === undefined) throw new PresentationError('not-negotiated', `${kind} is not implemented`)
      const request = checkRequest(kind, input)
      if (this.#presenting === 'on-offer' && !(await this.#present(id))) return
      const result = await implementation.handle(WIRE_OPERATIONS[kind], request, this.#context(id, work, request))
      if (!this.#work.has(id)) return
      const crossing = crossingResult(request, kind, result)
      this.#work.delete(id)
      this.pump(() => {
        try {
          this.link.answer(id, crossing.text, crossing.secret)
        } catch (error) {
          this.#say(() => { this.link.fail(id, codeOf(errorFrom(error)) ?? 'implementation-failed') })
        }
      })
    } catch (error) {
      if (!this.#work.delete(id)) return
      this.#say(() => { this.link.fail(id, codeOf(error) ?? 'implementation-failed') })
    }
  }

  #present(id: number): Promise<boolean> {
    const work = this.#work.get(id)
    if (work === undefined) return Promise.resolve(false)
    try {
      this.pump(() => { this.link.present(id) })
    } catch {
      // It is over, or was asked before.
      return Promise.resolve(false)
    }
    return work.presented.promise
  }

  #context(id: number, work: Work, request: DataRecord): PresentationHandlerContext {
    const exact = typeof request.exactRedirectUri === 'string' ? request.exactRedirectUri : undefined
    return Object.freeze({
      connectionId: 'attachment',
      planRevision: 1,
      invocationId: String(request.invocationId),
      binding: this.#binding(work.kind, request),
      signal: work.controller.signal,
      progress: (value: unknown) => {
        const ready = checkReady(value, exact)
        try {
          this.pump(() => { this.link.progress(id, JSON.stringify(ready)) })
        } catch (error) {
          throw errorFrom(error)
        }
      },
      present: () => this.#present(id),
      release: () => {
        if (this.#work.delete(id)) this.#say(() => { this.link.release(id) })
      },
    })
  }

  #binding(kind: PresentationKind, request: DataRecord): CapabilityBinding {
    const support = this.#implementations.get(kind)!.protocol
    const endpoint = (id: string) => Object.freeze({ id, instanceId: id })
    return Object.freeze({
      bindingId: `attachment-${kind}`,
      agreementId: 'attachment',
      planRevision: 1,
      consumer: Object.freeze({ endpoint: endpoint('host'), participantId: String(request.origin) }),
      provider: Object.freeze({ endpoint: endpoint(this.#participantId), participantId: this.#participantId }),
      requirement: Object.freeze({ apiVersion: support.apiVersion, kind }),
      support,
    })
  }

  /** Says something of a request that may be over by now. */
  #say(speak: () => void): void {
    this.pump(() => {
      try {
        speak()
      } catch {
        // It is over: the Host has said so or is about to.
      }
    })
  }
}
