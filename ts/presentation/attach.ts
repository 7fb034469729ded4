/**
 * Presentation over a message channel: the provider's end ({@link attach}) and the Host's (`host.attach`). The state of a
 * link, its messages and their limits are Rust's; this carries texts and calls handlers (spec: presentation, Connection
 * binding; P6).
 *
 * @module
 */

import { createPresentationHostLink, createPresentationProviderLink } from 'dsh-ag-ui/native'
import type { PresentationLink } from 'dsh-ag-ui/native'
import type { PresentationKind } from './common.ts'
import { reasonOf } from './driver.ts'
import { PresentationError, codeOf, errorFrom } from './errors.ts'
import type { PresentationErrorCode } from './errors.ts'
import type { UserInteractionLimits } from './interaction.ts'
import { WIRE_OPERATIONS, byKind } from './local-provider.ts'
import type { PresentationHandlerContext } from './local-provider.ts'
import type { CapabilityBinding, CapabilityImplementation, ProtocolSupport } from './model.ts'
import type { Offer, ProviderPort, Withdrawal } from './offer.ts'
import { toTextPort } from './ports.ts'
import type { AttachPort, MessagePortLike, StreamPair, TextPort, WebSocketLike } from './ports.ts'
import type { DataRecord } from './snapshot.ts'
import { snapshot } from './snapshot.ts'
import { checkReady, checkRequest, crossingResult } from './validation.ts'

export type { AttachPort, MessagePortLike, StreamPair, TextPort, WebSocketLike }

/** Bounds of one end; every one has a finite default. */
export interface AttachmentLimits {
  /** UTF-8 bytes of one message. Default 4 MiB. */
  readonly maxMessageBytes?: number
  /** Requests without an answer. Default 1024. */
  readonly maxPending?: number
  /** Milliseconds until the greeting must have come. Default 10 s. */
  readonly openingMs?: number
  /** Milliseconds of silence after which the peer is pinged. Default 15 s. */
  readonly pingMs?: number
  /** Milliseconds of silence after which the peer counts as gone. Default 45 s. */
  readonly silenceMs?: number
}

/** A provider of the Host at the other end of a channel. */
export interface HostAttachOptions {
  /** The identity under which the Host knows the endpoint. What the peer calls itself grants nothing. */
  readonly participantId: string
  /** The connection's limits for requests. */
  readonly limits?: UserInteractionLimits
  readonly link?: AttachmentLimits
}

/** A provider that is served over a channel. */
export interface AttachOptions {
  readonly participantId: string
  readonly implementations: readonly CapabilityImplementation[]
  /** `explicit` handlers ask with `context.present()` before they show; for others the Host is asked before they are called. */
  readonly presenting?: 'on-offer' | 'explicit'
  readonly link?: AttachmentLimits
}

/** One end of an attachment. */
export interface PresentationAttachment extends Disposable {
  /** Resolves when both ends have greeted; rejects with a {@link PresentationError} when the link ends before. */
  readonly opened: Promise<void>
  /** Resolves with the reason when the link has ended; never rejects. */
  readonly closed: Promise<PresentationErrorCode>
  /** Ends the lease: what is pending is settled at both ends. */
  close(): void
}

/** Serves a provider over `port`. Throws a `TypeError` for invalid options. */
export function attach(port: AttachPort, options: AttachOptions): PresentationAttachment {
  return new ProviderEnd(port, options)
}

/** What the Host does for its end. */
export interface HostEndHooks<Record> {
  publish(supports: readonly ProtocolSupport[], offers: ProviderPort): Record
  withdraw(record: Record, how: 'lease-ended' | 'lost'): void
}

/** The Host's end; resolves when the provider is attached. For the Host. */
export async function connectPort<Record>(
  port: AttachPort,
  options: HostAttachOptions,
  hooks: HostEndHooks<Record>,
): Promise<PresentationAttachment> {
  const end = new HostEnd(port, options, hooks)
  await end.opened
  return end
}

type Output =
  | readonly ['send']
  | readonly ['hello', participant: string, supports: readonly ProtocolSupport[]]
  | readonly ['welcome']
  | readonly ['request', id: number, kind: PresentationKind, input: DataRecord]
  | readonly ['present', id: number]
  | readonly ['presented', id: number, refusal: PresentationErrorCode | null]
  | readonly ['released', id: number]
  | readonly ['progress', id: number, value: unknown]
  | readonly ['result', id: number, result: DataRecord]
  | readonly ['failed', id: number, code: PresentationErrorCode]
  | readonly ['cancelled', id: number, reason: Withdrawal]
  | readonly ['refused', id: number, code: PresentationErrorCode]
  | readonly ['closed', code: PresentationErrorCode]

const MAX_MESSAGE_BYTES = 4 << 20

/** What both ends do: carry texts, keep the timer, report the end. */
abstract class End implements PresentationAttachment {
  readonly opened: Promise<void>
  readonly closed: Promise<PresentationErrorCode>
  protected readonly link: PresentationLink
  readonly #port: TextPort
  readonly #open: { resolve(): void, reject(error: unknown): void }
  readonly #close: (code: PresentationErrorCode) => void
  #pumping = false
  #timer: NodeJS.Timeout | undefined

  protected constructor(port: TextPort, link: PresentationLink) {
    const opened = Promise.withResolvers<void>()
    const closed = Promise.withResolvers<PresentationErrorCode>()
    // Who looks at `closed` only is not to be troubled by an opening that failed.
    opened.promise.catch(() => {})
    this.opened = opened.promise
    this.closed = closed.promise
    this.#open = opened
    this.#close = closed.resolve
    this.#port = port
    this.link = link
  }

  /** Begins to carry. Called when the subclass is complete. */
  protected begin(): void {
    this.#port.start({
      message: text => { this.pump(() => { this.link.message(text) }) },
      lost: () => { this.pump(() => { this.link.lost() }) },
    })
    this.pump()
  }

  close(): void {
    this.pump(() => { this.link.close('channel-closed') })
  }

  [Symbol.dispose](): void {
    this.close()
  }

  protected abstract handle(output: Output): void

  /** Both ends have greeted. */
  protected ready(): void {
    this.#open.resolve()
  }

  /** Speaks to the link and carries out what follows. */
  protected pump(speak?: () => void): void {
    speak?.()
    if (this.#pumping) return
    this.#pumping = true
    try {
      for (let text = this.link.next(); text !== null; text = this.link.next()) this.#carryOut(JSON.parse(text) as Output)
    } finally {
      this.#pumping = false
    }
    this.#schedule()
  }

  #carryOut(output: Output): void {
    switch (output[0]) {
      case 'send':
        try {
          this.#port.send(this.link.takeText() ?? '')
        } catch {
          this.link.lost()
        }
        return
      case 'closed':
        this.handle(output)
        this.#open.reject(new PresentationError(output[1], `the presentation attachment ended: ${output[1]}`))
        this.#close(output[1])
        try {
          this.#port.close()
        } catch {
          // It is gone already.
        }
        return
      default:
        this.handle(output)
    }
  }

  #schedule(): void {
    clearTimeout(this.#timer)
    const due = this.link.due()
    if (due < 0) return
    this.#timer = setTimeout(() => { this.pump(() => { this.link.timeout() }) }, due + 1)
    // The channel keeps the process alive, or nothing does.
    this.#timer.unref()
  }
}

/** The end that asks. */
class HostEnd<Record> extends End implements ProviderPort {
  readonly #hooks: HostEndHooks<Record>
  readonly #offers = new Map<number, Offer>()
  #record: Record | undefined

  constructor(port: AttachPort, options: HostAttachOptions, hooks: HostEndHooks<Record>) {
    const limits = linkLimits(options.link)
    super(toTextPort(port, options.link?.maxMessageBytes ?? MAX_MESSAGE_BYTES), make(() => createPresentationHostLink(limits)))
    this.#hooks = hooks
    this.begin()
  }

  offer(offer: Offer): void {
    this.pump(() => {
      let id: number
      try {
        id = this.link.request(offer.kind, offer.text)
      } catch (error) {
        offer.fail(errorFrom(error))
        return
      }
      this.#offers.set(id, offer)
      offer.onWithdraw(reason => {
        if (this.#offers.delete(id)) this.pump(() => { this.link.cancel(id, reason) })
      })
    })
  }

  protected handle(output: Output): void {
    switch (output[0]) {
      case 'hello':
        return this.#attach(output[2])
      case 'present':
        return this.link.answerPresent(output[1], this.#offers.get(output[1])?.present() ?? null)
      case 'released':
        this.#take(output[1])?.release()
        return
      case 'progress':
        return this.#progress(output[1], output[2])
      case 'result':
        return this.#result(output[1], withSecret(output[2], this.link.takeText()))
      case 'failed':
        // A link that ends fails everything; the Host settles that when its provider goes, by what was shown.
        if (output[2] !== 'provider-disconnected') {
          this.#take(output[1])?.fail(new PresentationError(output[2], `the presentation provider failed: ${output[2]}`))
        }
        return
      case 'closed':
        this.#offers.clear()
        if (this.#record !== undefined) this.#hooks.withdraw(this.#record, output[1] === 'channel-closed' ? 'lease-ended' : 'lost')
        return
      default:
    }
  }

  #attach(supports: readonly ProtocolSupport[]): void {
    try {
      this.#record = this.#hooks.publish(snapshot(supports, 'Presentation supports') as unknown as ProtocolSupport[], this)
    } catch (error) {
      this.link.close(codeOf(error) ?? 'invalid-request')
      return
    }
    this.link.welcome()
    this.ready()
  }

  #take(id: number): Offer | undefined {
    const offer = this.#offers.get(id)
    this.#offers.delete(id)
    return offer
  }

  #progress(id: number, value: unknown): void {
    try {
      this.#offers.get(id)?.progress(value)
    } catch (error) {
      this.link.refuse(id, codeOf(error) ?? 'implementation-failed')
    }
  }

  #result(id: number, result: unknown): void {
    const refusal = this.#take(id)?.submit(result)
    if (refusal !== undefined) this.link.refuse(id, refusal)
  }
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

/** Puts the secret back where the consumer's side expects it. */
function withSecret(result: DataRecord, secret: string | null): unknown {
  if (secret === null || typeof result !== 'object') return result
  return { ...result, value: { ...(result.value as object | undefined), secret } }
}

function linkLimits(limits: AttachmentLimits | undefined): string {
  return JSON.stringify(snapshot(limits ?? {}, 'Presentation attachment limits'))
}

function make<T>(create: () => T): T {
  try {
    return create()
  } catch (error) {
    throw errorFrom(error)
  }
}
