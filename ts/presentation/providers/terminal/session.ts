/**
 * The terminal while it asks: raw mode, one request at a time, and the terminal as it was afterwards.
 *
 * @module
 */

import type { PresentationRequestContext, PresentationResult } from '../../common.ts'
import { epochMs } from '../../deadline.ts'
import { CANCELLED, submitted, unavailable } from '../contract.ts'
import type { HandlerContext } from '../contract.ts'
import { KeyDecoder } from './keys.ts'
import type { Key } from './keys.ts'
import { Keyboard } from './keyboard.ts'
import type { Input, TerminalOutput } from './keyboard.ts'
import type { Line } from './layout.ts'
import { Life, Stop } from './life.ts'
import type { Messages } from './messages.ts'
import type { Prompt } from './prompts.ts'
import { Screen } from './screen.ts'
import type { SecretPrompt } from './secret.ts'

/** Reason of `unavailable`: there is nobody to talk to. */
export const NO_TERMINAL = 'no-terminal'
/** Reason of `unavailable`: too many requests wait. */
const QUEUE_FULL = 'terminal-queue-full'

/** What a dialogue can do while it has the terminal. */
export interface Dialogue {
  /** Prints for good. Tells whether all of it can be seen at once with what is asked next. */
  print(lines: readonly Line[]): 'fits' | 'scrolls'
  ask<T>(prompt: Prompt<T>): Promise<T>
  /** Erases what was typed, whatever happens. */
  askSecret(prompt: SecretPrompt): Promise<string>
}

export interface SessionOptions {
  readonly input: Input
  readonly output: TerminalOutput
  readonly messages: Messages
  /** Dialogues that may be held or wait. */
  readonly maxQueued: number
  /** `explicit`: the Host is asked before a request is shown. */
  readonly presenting: 'on-offer' | 'explicit'
}

/** A terminal that asks one thing after another. */
export class Session {
  readonly #input: Input
  readonly #output: TerminalOutput
  readonly #messages: Messages
  readonly #maxQueued: number
  readonly #presenting: 'on-offer' | 'explicit'
  readonly #screen: Screen
  readonly #closing = new AbortController()
  #queued = 0
  #last: Promise<void> = Promise.resolve()

  constructor(options: SessionOptions) {
    this.#input = options.input
    this.#output = options.output
    this.#messages = options.messages
    this.#maxQueued = options.maxQueued
    this.#presenting = options.presenting
    this.#screen = new Screen(options.output)
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
    request: PresentationRequestContext,
    context: HandlerContext,
    dialogue: (dialogue: Dialogue) => Promise<T>,
  ): Promise<PresentationResult<T>> {
    if (!this.isInteractive) return unavailable(NO_TERMINAL)
    if (this.#queued >= this.#maxQueued) return unavailable(QUEUE_FULL)
    const expiresAt = request.deadline === undefined ? undefined : epochMs(request.deadline)
    this.#queued += 1
    const turn = this.#last
    const end = Promise.withResolvers<void>()
    this.#last = end.promise
    const life = new Life([context.signal, this.#closing.signal], expiresAt)
    try {
      await Promise.race([turn, life.ended])
      if (life.over !== undefined) return life.over
      if (this.#presenting === 'explicit' && await context.present?.() === false) return CANCELLED
      if (life.over !== undefined) return life.over
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
        print: lines => this.#screen.print(lines),
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
