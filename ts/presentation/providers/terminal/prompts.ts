/**
 * The prompts as state machines: a view to draw, keys to press, a value at the end. No terminal, no clock.
 *
 * @module
 */

import { Editor } from './editor.ts'
import type { LineMode } from './editor.ts'
import type { Key } from './keys.ts'
import { QUOTE } from './layout.ts'
import type { Line } from './layout.ts'
import type { Messages, Optionality } from './messages.ts'
import type { View } from './screen.ts'
import { visibleLine, visibleLines } from './visible.ts'

/** A prompt's end. */
export interface Done<T> {
  readonly value: T
}

export interface Prompt<T> {
  view(): View
  /** Returns the value when the key ends the prompt. */
  press(key: Key): Done<T> | undefined
}

/** A field without an answer. */
export const NO_ANSWER = Symbol('no answer')

export type Answered<T> = T | typeof NO_ANSWER

export interface Choice<T> {
  readonly value: T
  readonly label: string
  /** Whose words the label is. */
  readonly author: 'provider' | 'consumer'
  readonly description?: string
}

/** What a letter does in a {@link ChoicePrompt}. */
export interface Shortcut {
  readonly letter: string
  readonly choice: number
}

export interface ChoiceOptions<T> {
  readonly heading: readonly Line[]
  readonly choices: readonly Choice<T>[]
  readonly hint: string
  /** Letters that choose at once. */
  readonly shortcuts?: readonly Shortcut[]
}

/** Mark of the current choice, and the space that other choices leave for it. */
const CURRENT = '❯ '
const OTHER = '  '

/** One of several. */
export class ChoicePrompt<T> implements Prompt<T> {
  readonly #options: ChoiceOptions<T>
  #current = 0

  constructor(options: ChoiceOptions<T>) {
    this.#options = options
  }

  view(): View {
    const { heading, choices, hint } = this.#options
    const { lines, focus } = choiceLines(choices, this.#current, () => '')
    return { lines: [...heading, ...lines, { text: hint, style: 'faint' }], focus: heading.length + focus }
  }

  press(key: Key): Done<T> | undefined {
    const { choices, shortcuts = [] } = this.#options
    this.#current = moved(this.#current, key, choices.length)
    const shortcut = key.kind === 'text' && shortcuts.find(({ letter }) => letter === key.text.toLowerCase())
    if (shortcut) return chosen(choices[shortcut.choice])
    return isEnter(key) ? chosen(choices[this.#current]) : undefined
  }
}

/** Any number of several. */
export class MultiplePrompt<T> implements Prompt<readonly T[]> {
  readonly #heading: readonly Line[]
  readonly #choices: readonly Choice<T>[]
  readonly #optionality: Optionality
  readonly #messages: Messages
  readonly #marked = new Set<number>()
  #current = 0
  #complaint: string | undefined

  constructor(heading: readonly Line[], choices: readonly Choice<T>[], optionality: Optionality, messages: Messages) {
    this.#heading = heading
    this.#choices = choices
    this.#optionality = optionality
    this.#messages = messages
  }

  view(): View {
    const mark = (index: number): string => this.#marked.has(index) ? '[x] ' : '[ ] '
    const { lines, focus } = choiceLines(this.#choices, this.#current, mark)
    return {
      lines: [...this.#heading, ...lines, ...complaint(this.#complaint), { text: this.#messages.multipleHint, style: 'faint' }],
      focus: this.#heading.length + focus,
    }
  }

  press(key: Key): Done<readonly T[]> | undefined {
    this.#current = moved(this.#current, key, this.#choices.length)
    if (key.kind === 'text' && key.text === ' ') {
      this.#complaint = undefined
      if (!this.#marked.delete(this.#current)) this.#marked.add(this.#current)
    }
    if (!isEnter(key)) return undefined
    if (this.#marked.size === 0 && this.#optionality === 'required') {
      this.#complaint = this.#messages.required
      return undefined
    }
    return { value: this.#choices.filter((_, index) => this.#marked.has(index)).map(({ value }) => value) }
  }
}

export interface TextOptions {
  readonly heading: readonly Line[]
  readonly mode: LineMode
  readonly optionality: Optionality
  /** In UTF-16 code units. */
  readonly minLength?: number
  readonly maxLength?: number
  readonly messages: Messages
}

/** A text. Empty is no answer, since a provider never makes one up. */
export class TextPrompt implements Prompt<Answered<string>> {
  readonly #options: TextOptions
  readonly #editor: Editor
  #complaint: string | undefined

  constructor(options: TextOptions) {
    this.#options = options
    this.#editor = new Editor(options.mode)
  }

  view(): View {
    const { heading, mode, messages, optionality } = this.#options
    const { text, cursor } = this.#editor
    const before = text.slice(0, cursor).split('\n')
    const hint = mode === 'multi-line' ? messages.multilineHint(optionality) : messages.textHint(optionality)
    return {
      lines: [
        ...heading,
        ...text.split('\n').map(line => ({ text: line.replaceAll('\t', ' '), prefix: '> ' })),
        ...complaint(this.#complaint),
        { text: hint, style: 'faint' },
      ],
      focus: heading.length + before.length - 1,
      cursor: before.at(-1)?.length ?? 0,
    }
  }

  press(key: Key): Done<Answered<string>> | undefined {
    if (!this.#submits(key)) {
      this.#complaint = undefined
      this.#editor.press(key)
      return undefined
    }
    const { text } = this.#editor
    const { optionality, messages } = this.#options
    if (text === '' && optionality === 'optional') return { value: NO_ANSWER }
    this.#complaint = text === '' ? messages.required : misfit(text, this.#options, messages)
    return this.#complaint === undefined ? { value: text } : undefined
  }

  #submits(key: Key): boolean {
    if (this.#options.mode === 'single-line') return isEnter(key)
    return key.kind === 'control' && (key.name === 'ctrl-d' || key.name === 'meta-return')
  }
}

/** What is wrong with a text's length, in the user's words. */
export function misfit(
  text: string,
  { minLength = 0, maxLength = Infinity }: { readonly minLength?: number, readonly maxLength?: number },
  messages: Messages,
): string | undefined {
  if (text.length < minLength) return messages.tooShort(minLength)
  return text.length > maxLength ? messages.tooLong(maxLength) : undefined
}

/** A detail that is shown only while the user wants it. */
export interface HiddenDetail {
  readonly label: string
  readonly value: string
}

/**
 * Approve or deny, deny first. Enter counts only in a read of its own: what was typed before the prompt appeared comes
 * in one piece, and must not approve anything.
 */
export class ApprovalPrompt implements Prompt<'approved' | 'denied'> {
  readonly #reminder: readonly Line[]
  readonly #hidden: readonly HiddenDetail[]
  readonly #messages: Messages
  #current: 'approved' | 'denied' = 'denied'
  #details: 'hidden' | 'shown' = 'hidden'
  /** The read that brought the last key. */
  #chunk = 0

  /** `reminder` stands above the choice. */
  constructor(reminder: readonly Line[], hidden: readonly HiddenDetail[], messages: Messages) {
    this.#reminder = reminder
    this.#hidden = hidden
    this.#messages = messages
  }

  view(): View {
    const messages = this.#messages
    const choices: Choice<string>[] = [
      { value: 'denied', label: messages.deny, author: 'provider' },
      { value: 'approved', label: messages.approve, author: 'provider' },
    ]
    const details = this.#hidden.length === 0 ? [] : [
      { text: messages.privateDetails(this.#hidden.length), style: 'faint' as const },
      ...(this.#details === 'shown' ? this.#hidden.flatMap(({ label, value }) => labelled(visibleLine(label), value)) : []),
    ]
    const { lines, focus } = choiceLines(choices, this.#current === 'denied' ? 0 : 1, () => '')
    const above = [...details, ...this.#reminder]
    return { lines: [...above, ...lines, { text: messages.approvalHint, style: 'faint' }], focus: above.length + focus }
  }

  press(key: Key): Done<'approved' | 'denied'> | undefined {
    const alone = key.chunk !== this.#chunk
    this.#chunk = key.chunk
    if (isEnter(key)) return alone ? { value: this.#current } : undefined
    if (key.kind === 'text' && key.text.toLowerCase() === 'v') {
      this.#details = this.#details === 'shown' ? 'hidden' : 'shown'
    }
    if (key.kind === 'control') {
      if (['down', 'right'].includes(key.name)) this.#current = 'approved'
      if (['up', 'left'].includes(key.name)) this.#current = 'denied'
      if (key.name === 'tab') this.#current = this.#current === 'denied' ? 'approved' : 'denied'
    }
    return undefined
  }
}

/** A consumer's value under a label. */
export function labelled(label: string, value: string): Line[] {
  const lines = visibleLines(value)
  if (lines.length === 1) return [{ text: `${label}: ${lines[0] ?? ''}`, prefix: QUOTE }]
  return [{ text: `${label}:`, prefix: QUOTE }, ...lines.map(text => ({ text, prefix: `${QUOTE}  ` }))]
}

function choiceLines(
  choices: readonly Choice<unknown>[],
  current: number,
  mark: (index: number) => string,
): { lines: Line[], focus: number } {
  const lines: Line[] = []
  let focus = 0
  for (const [index, { label, author, description }] of choices.entries()) {
    const selected = index === current
    if (selected) focus = lines.length
    const quote = author === 'consumer' ? QUOTE : ''
    lines.push({
      text: `${selected ? CURRENT : OTHER}${mark(index)}${author === 'consumer' ? visibleLine(label) : label}`,
      prefix: quote,
      style: selected ? 'chosen' : 'plain',
    })
    if (description !== undefined) {
      lines.push(...visibleLines(description).map(text => ({ text, prefix: `${quote}    `, style: 'faint' as const })))
    }
  }
  return { lines, focus }
}

function moved(current: number, key: Key, count: number): number {
  if (key.kind !== 'control') return current
  switch (key.name) {
    case 'up':
    case 'left':
      return Math.max(current - 1, 0)
    case 'down':
    case 'right':
    case 'tab':
      return Math.min(current + 1, count - 1)
    case 'home':
      return 0
    case 'end':
      return count - 1
    default:
      return current
  }
}

function isEnter(key: Key): boolean {
  return key.kind === 'control' && (key.name === 'return' || key.name === 'enter')
}

function chosen<T>(choice: Choice<T> | undefined): Done<T> | undefined {
  return choice && { value: choice.value }
}

function complaint(text: string | undefined): Line[] {
  return text === undefined ? [] : [{ text, style: 'warning' }]
}
