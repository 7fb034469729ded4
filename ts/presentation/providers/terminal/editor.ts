/**
 * A text being edited: a value, no terminal.
 *
 * @module
 */

import { clusters } from './layout.ts'
import type { Key } from './keys.ts'

/** Whether a line break is part of the text. */
export type LineMode = 'single-line' | 'multi-line'

export class Editor {
  readonly #mode: LineMode
  #before = ''
  #after = ''

  constructor(mode: LineMode) {
    this.#mode = mode
  }

  get text(): string {
    return this.#before + this.#after
  }

  /** Index of the cursor in `text`. */
  get cursor(): number {
    return this.#before.length
  }

  /** Applies an editing key. Keys that mean nothing here change nothing. */
  press(key: Key): void {
    if (key.kind !== 'control') {
      this.#insert(key.text)
      return
    }
    switch (key.name) {
      case 'backspace':
      case 'ctrl-h':
        this.#before = dropLast(this.#before)
        break
      case 'delete':
      case 'ctrl-d':
        this.#after = dropFirst(this.#after)
        break
      case 'left':
      case 'ctrl-b':
        this.#moveTo(dropLast(this.#before).length)
        break
      case 'right':
      case 'ctrl-f':
        this.#moveTo(this.text.length - dropFirst(this.#after).length)
        break
      case 'up':
        this.#moveBy(-1)
        break
      case 'down':
        this.#moveBy(1)
        break
      case 'home':
      case 'ctrl-a':
        this.#moveTo(this.#lineStart)
        break
      case 'end':
      case 'ctrl-e':
        this.#moveTo(this.#lineEnd)
        break
      case 'ctrl-u':
        this.#before = this.#before.slice(0, this.#lineStart)
        break
      case 'ctrl-k':
        this.#after = this.text.slice(this.#lineEnd)
        break
      case 'ctrl-w':
        this.#before = this.#before.replace(/\S*\s*$/, '')
        break
      case 'return':
      case 'enter':
        if (this.#mode === 'multi-line') this.#insert('\n')
        break
      default:
    }
  }

  /** Pasted controls are dropped: nobody meant to type them. A line break in a single line becomes a space. */
  #insert(text: string): void {
    const breaks = this.#mode === 'multi-line' ? text : text.replaceAll('\n', ' ')
    this.#before += breaks.replace(/[^\P{Cc}\t\n]/gu, '')
  }

  get #lineStart(): number {
    return this.#before.lastIndexOf('\n') + 1
  }

  get #lineEnd(): number {
    const end = this.#after.indexOf('\n')
    return end < 0 ? this.text.length : this.cursor + end
  }

  #moveTo(cursor: number): void {
    const { text } = this
    this.#before = text.slice(0, cursor)
    this.#after = text.slice(cursor)
  }

  /** To the same place of another line, as far as that line is long enough. */
  #moveBy(lines: -1 | 1): void {
    const all = this.text.split('\n')
    const row = this.#before.split('\n').length - 1
    const target = all[row + lines]
    if (target === undefined) return
    const column = clusters(this.#before.slice(this.#lineStart)).length
    const start = all.slice(0, row + lines).reduce((sum, line) => sum + line.length + 1, 0)
    this.#moveTo(start + clusters(target).slice(0, column).join('').length)
  }
}

function dropLast(text: string): string {
  return clusters(text).slice(0, -1).join('')
}

function dropFirst(text: string): string {
  return clusters(text).slice(1).join('')
}
