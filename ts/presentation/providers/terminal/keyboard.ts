/**
 * The keyboard in raw mode, for one dialogue alone, and as it was afterwards.
 *
 * @module
 */

import { CANCELLED } from '../contract.ts'
import { Stop } from './life.ts'
import type { Life } from './life.ts'
import type { Output, Screen } from './screen.ts'

/** What a session needs of `tty.ReadStream`. */
export interface Input extends NodeJS.ReadableStream {
  readonly isTTY?: boolean
  readonly isRaw?: boolean
  setRawMode?(mode: boolean): unknown
}

/** What a session needs of `tty.WriteStream`. */
export interface TerminalOutput extends Output {
  on(event: 'resize', listener: () => void): unknown
  off(event: 'resize', listener: () => void): unknown
}

type AnyListener = (...args: unknown[]) => void

/** Events through which others would read what is typed. */
const READING = ['data', 'readable', 'keypress'] as const

/** Bracketed paste, and an end to it with the cursor shown. */
const BEGIN = '\x1b[?2004h'
const END = '\x1b[?2004l\x1b[?25h'

/** Takes the keyboard when it is made; {@link Keyboard.release} gives it back. */
export class Keyboard {
  readonly #input: Input
  readonly #output: TerminalOutput
  readonly #wasRaw: boolean
  readonly #wasPaused: boolean
  readonly #others: readonly (readonly [string, AnyListener[]])[]
  readonly #redraw: () => void
  /** The terminal has gone away; it takes neither text nor modes any more. */
  gone = false
  readonly #restore = (): void => {
    this.#output.write(END)
    this.#input.setRawMode?.(this.#wasRaw)
  }

  constructor(input: Input, output: TerminalOutput, screen: Screen) {
    this.#input = input
    this.#output = output
    this.#wasRaw = input.isRaw === true
    this.#wasPaused = input.isPaused()
      || input.listenerCount('data') + input.listenerCount('readable') === 0
    this.#others = READING.map(event => [event, input.rawListeners(event) as AnyListener[]] as const)
    for (const [event, listeners] of this.#others) {
      for (const listener of listeners) input.off(event, listener)
    }
    this.#redraw = () => screen.resize()
    output.on('resize', this.#redraw)
    // The process may end while it asks; the user's shell must not inherit a raw terminal.
    process.on('exit', this.#restore)
    input.setRawMode?.(true)
    output.write(BEGIN)
  }

  /** Feeds reads to `onChunk` until the answer is there, the request ends, or the terminal goes away. */
  async read<T>(
    onChunk: (chunk: Buffer) => void,
    life: Life,
    answer: PromiseWithResolvers<T>,
  ): Promise<T> {
    const input = this.#input
    const onData = (chunk: Buffer | string): void => {
      try {
        onChunk(typeof chunk === 'string' ? Buffer.from(chunk) : chunk)
      } catch (error) {
        answer.reject(error)
      }
    }
    const onGone = (): void => {
      this.gone = true
      answer.reject(new Stop(CANCELLED))
    }
    const gone = ['end', 'close', 'error'] as const
    void life.ended.then(() => answer.reject(new Stop(life.over ?? CANCELLED)))
    for (const event of gone) input.on(event, onGone)
    input.on('data', onData)
    input.resume()
    try {
      return await answer.promise
    } finally {
      input.off('data', onData)
      for (const event of gone) input.off(event, onGone)
      input.pause()
    }
  }

  release(): void {
    process.off('exit', this.#restore)
    this.#output.off('resize', this.#redraw)
    if (!this.gone) this.#restore()
    for (const [event, listeners] of this.#others) {
      for (const listener of listeners) this.#input.on(event, listener)
    }
    if (this.#wasPaused) this.#input.pause()
    else this.#input.resume()
  }
}
