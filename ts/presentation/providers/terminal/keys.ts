/**
 * Bytes of a terminal to keys. The decoding is Node's own (`readline.emitKeypressEvents`); this adds bracketed paste
 * and remembers which keys came together.
 *
 * @module
 */

import { emitKeypressEvents } from 'node:readline'
import { Readable } from 'node:stream'

/** One key, or a piece of pasted text. */
export type Key =
  | { readonly kind: 'text', readonly text: string, readonly chunk: number }
  | { readonly kind: 'paste', readonly text: string, readonly chunk: number }
  | {
      readonly kind: 'control'
      /** `return`, `up`, `ctrl-c`, `meta-return`, ... */
      readonly name: string
      /** Number of the read that brought it. Keys typed ahead of a prompt share one. */
      readonly chunk: number
    }

interface Keypress {
  readonly name?: string
  readonly ctrl?: boolean
  readonly meta?: boolean
}

const CONTROLS = /\p{Cc}/u

/** Decodes what is written to it and calls back for each key, synchronously. */
export class KeyDecoder {
  readonly #bytes = new Readable({ read() {} })
  #chunk = 0
  #pasted: string | undefined

  constructor(onKey: (key: Key) => void) {
    emitKeypressEvents(this.#bytes)
    this.#bytes.on('keypress', (text: string | undefined, press: Keypress) => {
      const key = this.#read(text, press)
      if (key !== undefined) onKey(key)
    })
  }

  write(chunk: Buffer): void {
    this.#chunk += 1
    this.#bytes.emit('data', chunk)
  }

  close(): void {
    this.#bytes.removeAllListeners()
  }

  #read(text: string | undefined, { name, ctrl, meta }: Keypress): Key | undefined {
    const chunk = this.#chunk
    if (name === 'paste-start') {
      this.#pasted = ''
      return undefined
    }
    if (name === 'paste-end') {
      const pasted = this.#pasted ?? ''
      this.#pasted = undefined
      return { kind: 'paste', text: pasted.replace(/\r\n?/g, '\n'), chunk }
    }
    if (this.#pasted !== undefined) {
      this.#pasted += text ?? ''
      return undefined
    }
    const special = ctrl === true ? `ctrl-${name ?? ''}` : meta === true ? `meta-${name ?? ''}` : undefined
    if (special === undefined && text !== undefined && text !== '' && !CONTROLS.test(text)) {
      return { kind: 'text', text, chunk }
    }
    const plain = special ?? name
    return plain === undefined ? undefined : { kind: 'control', name: plain, chunk }
  }
}
