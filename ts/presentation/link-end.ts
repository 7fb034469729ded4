/**
 * What both ends of an attachment do: carry texts, keep the timer, report the end. The state of a link, its messages and
 * their limits are Rust's.
 *
 * @module
 */

import type { PresentationLink } from 'dsh-ag-ui/native'
import type { AttachmentLimits, PresentationAttachment } from './attach-api.ts'
import type { PresentationKind } from './common.ts'
import { PresentationError, errorFrom } from './errors.ts'
import type { PresentationErrorCode } from './errors.ts'
import type { ProtocolSupport } from './model.ts'
import type { Withdrawal } from './offer.ts'
import type { TextPort } from './ports.ts'
import type { DataRecord } from './snapshot.ts'
import { snapshot } from './snapshot.ts'

/** What a link gives to be done. */
export type Output =
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

/** The default bound of one message. */
export const MAX_MESSAGE_BYTES = 4 << 20

/** What both ends do: carry texts, keep the timer, report the end. */
export abstract class End implements PresentationAttachment {
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

/** The JSON of a link's limits. Throws a `TypeError` for what is no data. */
export function linkLimits(limits: AttachmentLimits | undefined): string {
  return JSON.stringify(snapshot(limits ?? {}, 'Presentation attachment limits'))
}

/** Makes a link; throws what is wrong as an error of its class. */
export function make<T>(create: () => T): T {
  try {
    return create()
  } catch (error) {
    throw errorFrom(error)
  }
}
