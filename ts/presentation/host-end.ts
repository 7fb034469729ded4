/**
 * The Host's end of an attachment: a provider behind a channel (P6).
 *
 * @module
 */

import { createPresentationHostLink } from 'dsh-ag-ui/native'
import type { AttachPort, HostAttachOptions, PresentationAttachment } from './attach-api.ts'
import { PresentationError, codeOf, errorFrom } from './errors.ts'
import { End, MAX_MESSAGE_BYTES, linkLimits, make } from './link-end.ts'
import type { Output } from './link-end.ts'
import type { ProtocolSupport } from './model.ts'
import type { Offer, ProviderPort } from './offer.ts'
import { toTextPort } from './ports.ts'
import type { DataRecord } from './snapshot.ts'
import { snapshot } from './snapshot.ts'

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

/** Puts the secret back where the consumer's side expects it. */
function withSecret(result: DataRecord, secret: string | null): unknown {
  if (secret === null || typeof result !== 'object') return result
  return { ...result, value: { ...(result.value as object | undefined), secret } }
}
