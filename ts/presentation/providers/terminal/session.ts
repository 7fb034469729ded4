/**
 * The terminal while it asks: raw mode, one request at a time, and the terminal as it was afterwards.
 *
 * @module
 */

import { CANCELLED, EXPIRED, submitted, unavailable } from '../contract.ts'
import type { PresentationResult, RequestContext } from '../contract.ts'
import { KeyDecoder } from './keys.ts'
import type { Key } from './keys.ts'
import type { Line } from './layout.ts'
import type { Messages } from './messages.ts'
import type { Prompt } from './prompts.ts'
import { Screen } from './screen.ts'
import type { Output } from './screen.ts'
import type { SecretPrompt } from './secret.ts'

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

/** Reasons of `unavailable`. */
export const NO_TERMINAL = 'no-terminal'
export const QUEUE_FULL = 'terminal-queue-full'

/** Ends a dialogue early. */
class Stop extends Error {
  readonly result: PresentationResult<never>

  constructor(result: PresentationResult<never>) {
    super('the dialogue was stopped')
    this.result = result
  }
}

/** What a dialogue can do while it has the terminal. */
export interface Dialogue {
  /** Prints for good. */
  print(lines: readonly Line[]): void
  ask<T>(prompt: Prompt<T>): Promise<T>
  /** Erases what was typed, whatever happens. */
  askSecret(prompt: SecretPrompt): Promise<string>
}

/** A terminal that asks one thing after another. */
export class Session {
  readonly #input: Input
  readonly #output: TerminalOutput
  readonly #messages: Messages
  readonly #maxQueued: number
  readonly #screen: Screen
  readonly #closing = new AbortController()
  #queued = 0
  #last: Promise<void> = Promise.resolve()

  constructor(input: Input, output: TerminalOutput, messages: Messages, maxQueued: number) {
    this.#input = input
    this.#output = output
    this.#messages = messages
    this.#maxQueued = maxQueued
    this.#screen = new Screen(output)
  }

  /** Whether there is a user to talk to. */
  get isInteractive(): boolean {
    return this.#input.isTTY === true && this.#output.isTTY === true && this.#input.setRawMode !== undefined
      && this.#input.readable && !this.#closing.signal.aborted
  }

  /** Prints above whatever is being asked. */
  print(lines: readonly Line[]): void {
    this.#screen.print(lines)
  }

  /** Writes a control sequence that leaves the screen as it is. */
  send(sequence: string): void {
    this.#output.write(sequence)
  }

  /** Cancels what is being asked and what waits. */
  close(): void {
    this.#closing.abort()
  }

  /** Holds a dialogue when its turn comes. Never rejects for what the user or the request does. */
  async hold<T>(
    request: RequestContext,
    signal: AbortSignal,
    dialogue: (dialogue: Dialogue) => Promise<T>,
  ): Promise<PresentationResult<T>> {
    if (!this.isInteractive) return unavailable(NO_TERMINAL)
    if (this.#queued >= this.#maxQueued) return unavailable(QUEUE_FULL)
    this.#queued += 1
    const turn = this.#last
    const end = Promise.withResolvers<void>()
    this.#last = end.promise
    const life = new Life([signal, this.#closing.signal], request.deadline)
    try {
      await Promise.race([turn, life.ended])
      const over = life.over
      if (over !== undefined) return over
      return submitted(await this.#run(life, dialogue))
    } catch (error) {
      if (!(error instanceof Stop)) throw error
      if (this.isInteractive) this.print([{ text: error.result.status === 'expired' ? this.#messages.expired : this.#messages.cancelled, style: 'faint' }])
      return error.result
    } finally {
      life.close()
      this.#queued -= 1
      // A request that left the queue early must not let the next one in before its own turn has passed.
      void turn.then(end.resolve)
    }
  }

  async #run<T>(life: Life, dialogue: (dialogue: Dialogue) => Promise<T>): Promise<T> {
    const keyboard = new Keyboard(this.#input, this.#output, this.#screen)
    try {
      return await dialogue({
        print: lines => this.print(lines),
        ask: prompt => this.#ask(prompt, keyboard, life),
        askSecret: prompt => this.#askSecret(prompt, keyboard, life),
      })
    } finally {
      keyboard.release()
    }
  }

  async #ask<T>(prompt: Prompt<T>, keyboard: Keyboard, life: Life): Promise<T> {
    const answer = Promise.withResolvers<T>()
    const decoder = new KeyDecoder((key: Key) => {
      if (key.kind === 'control' && key.name === 'ctrl-c') {
        answer.reject(new Stop(CANCELLED))
        return
      }
      const done = prompt.press(key)
      if (done !== undefined) answer.resolve(done.value)
    })
    this.#screen.draw(prompt.view())
    try {
      return await keyboard.read((chunk) => {
        decoder.write(chunk)
        this.#screen.draw(prompt.view())
      }, life, answer)
    } finally {
      decoder.close()
      if (!keyboard.gone) this.#screen.clear()
    }
  }

  async #askSecret(prompt: SecretPrompt, keyboard: Keyboard, life: Life): Promise<string> {
    const answer = Promise.withResolvers<string>()
    this.#screen.draw(prompt.view())
    try {
      return await keyboard.read((chunk) => {
        const end = prompt.feed(chunk)
        if (end === 'cancelled') answer.reject(new Stop(CANCELLED))
        else if (end === 'changed') this.#screen.draw(prompt.view())
        else if (end !== undefined) answer.resolve(end.value)
      }, life, answer)
    } finally {
      prompt.erase()
      if (!keyboard.gone) this.#screen.clear()
    }
  }
}

/** How long a request lives: until one of its signals aborts or its deadline passes. */
class Life {
  readonly ended: Promise<void>
  over: PresentationResult<never> | undefined
  readonly #signals: readonly AbortSignal[]
  readonly #cancel: () => void
  #timer: NodeJS.Timeout | undefined

  constructor(signals: readonly AbortSignal[], deadline: string | undefined) {
    const ended = Promise.withResolvers<void>()
    const end = (result: PresentationResult<never>): void => {
      this.over ??= result
      ended.resolve()
    }
    this.ended = ended.promise
    this.#signals = signals
    this.#cancel = () => end(CANCELLED)
    for (const signal of signals) signal.addEventListener('abort', this.#cancel, { once: true })
    if (signals.some(({ aborted }) => aborted)) end(CANCELLED)
    if (deadline !== undefined) this.#wait(Date.parse(deadline), () => end(EXPIRED))
  }

  close(): void {
    clearTimeout(this.#timer)
    for (const signal of this.#signals) signal.removeEventListener('abort', this.#cancel)
  }

  /** In pieces, because a timer takes 2^31 - 1 ms at most. */
  #wait(at: number, expire: () => void): void {
    const left = at - Date.now()
    if (left <= 0) {
      expire()
      return
    }
    this.#timer = setTimeout(() => this.#wait(at, expire), Math.min(left, 2 ** 31 - 1))
  }
}

type AnyListener = (...args: unknown[]) => void

/** Events through which others would read what is typed. */
const READING = ['data', 'readable', 'keypress'] as const

/** Bracketed paste, and an end to it with the cursor shown. */
const BEGIN = '\x1b[?2004h'
const END = '\x1b[?2004l\x1b[?25h'

/** The keyboard in raw mode, for us alone. */
class Keyboard {
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
