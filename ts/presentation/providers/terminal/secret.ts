/**
 * A secret being typed. It exists as bytes in one buffer, which is overwritten; only at the end does it become a
 * string, which JavaScript cannot overwrite and which goes straight to the consumer.
 *
 * @module
 */

import type { Messages } from './messages.ts'
import { misfit } from './prompts.ts'
import type { Done } from './prompts.ts'
import type { Line } from './layout.ts'
import type { View } from './screen.ts'

const CTRL_C = 0x03
const BACKSPACE = 0x08
const TAB = 0x09
const LINE_FEED = 0x0a
const RETURN = 0x0d
const CTRL_U = 0x15
const ESCAPE = 0x1b
const DELETE = 0x7f

/** Longest secret in bytes; more is not taken. */
const CAPACITY = 64 * 1024

/** Where the reader is within an escape sequence, of which nothing belongs to the secret. */
type Sequence = 'none' | 'escape' | 'parameters' | 'final'

export class SecretPrompt {
  readonly #heading: readonly Line[]
  readonly #messages: Messages
  readonly #limits: { readonly minLength?: number, readonly maxLength?: number }
  readonly #bytes = Buffer.alloc(CAPACITY)
  #length = 0
  #sequence: Sequence = 'none'
  #complaint: string | undefined

  constructor(
    heading: readonly Line[],
    limits: { readonly minLength?: number, readonly maxLength?: number },
    messages: Messages,
  ) {
    this.#heading = heading
    this.#limits = limits
    this.#messages = messages
  }

  /** The same however much is typed. */
  view(): View {
    const complaint: Line[] = this.#complaint === undefined ? [] : [{ text: this.#complaint, style: 'warning' }]
    const lines: Line[] = [...this.#heading, ...complaint, { text: this.#messages.secretHint, style: 'faint' }, { text: '', prefix: '> ' }]
    return { lines, focus: lines.length - 1, cursor: 0 }
  }

  /**
   * Takes the bytes of one read and overwrites them. `changed` when the view has to be drawn again, which typing alone
   * never makes it: a recording of the screen does not tell how much was typed.
   */
  feed(chunk: Buffer): Done<string> | 'cancelled' | 'changed' | undefined {
    const complaint = this.#complaint
    try {
      for (const byte of chunk) {
        const end = this.#take(byte)
        if (end !== undefined) return end
      }
      return this.#complaint === complaint ? undefined : 'changed'
    } finally {
      chunk.fill(0)
    }
  }

  /** Overwrites what was typed. */
  erase(): void {
    this.#bytes.fill(0)
    this.#length = 0
  }

  #take(byte: number): Done<string> | 'cancelled' | undefined {
    if (this.#sequence !== 'none') {
      this.#sequence = nextInSequence(this.#sequence, byte)
      return undefined
    }
    switch (byte) {
      case CTRL_C:
        return 'cancelled'
      case RETURN:
      case LINE_FEED:
        return this.#submit()
      case CTRL_U:
        this.erase()
        return undefined
      case BACKSPACE:
      case DELETE:
        this.#dropCharacter()
        return undefined
      case ESCAPE:
        this.#sequence = 'escape'
        return undefined
      default:
        if ((byte >= 0x20 || byte === TAB) && this.#length < CAPACITY) {
          this.#bytes[this.#length] = byte
          this.#length += 1
        }
        return undefined
    }
  }

  /** Bytes 10xxxxxx continue a UTF-8 character. */
  #dropCharacter(): void {
    while (this.#length > 0) {
      this.#length -= 1
      const byte = this.#bytes[this.#length] ?? 0
      this.#bytes[this.#length] = 0
      if ((byte & 0xc0) !== 0x80) return
    }
  }

  #submit(): Done<string> | undefined {
    const secret = this.#decode()
    this.erase()
    this.#complaint = secret === undefined
      ? this.#messages.notText
      : secret === '' ? this.#messages.required : misfit(secret, this.#limits, this.#messages)
    return secret !== undefined && this.#complaint === undefined ? { value: secret } : undefined
  }

  #decode(): string | undefined {
    try {
      return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(this.#bytes.subarray(0, this.#length))
    } catch {
      return undefined
    }
  }
}

/** `ESC [ ... letter` and `ESC O letter` are keys; `ESC x` is a key with Meta. */
function nextInSequence(sequence: Sequence, byte: number): Sequence {
  switch (sequence) {
    case 'escape':
      if (byte === 0x5b) return 'parameters'
      return byte === 0x4f ? 'final' : 'none'
    case 'parameters':
      return byte >= 0x40 && byte <= 0x7e ? 'none' : 'parameters'
    case 'final':
    case 'none':
      return 'none'
  }
}
