/** Pending messages of an agent: a fold of `agent/inbox/spliced`, as in A, owned by the loop (host-api §3.2, §4.1). */

import type { AnyMessage } from './generation.ts'
import type { NewerSession } from './session.ts'

export type InboxTarget = 'next-turn' | 'next-step'

interface Splice {
  readonly target: InboxTarget
  readonly start: number
  readonly removedCount?: number
  readonly inserted: readonly AnyMessage[]
}

/** Tells the agent's listeners what became of a message. */
export interface InboxNotes {
  inserted(message: AnyMessage): void
  discarded(message: AnyMessage): void
  claimed(message: AnyMessage, turn: number): void
}

export class NewerInbox {
  readonly #session: NewerSession
  readonly #notes: InboxNotes
  readonly #lists: Record<InboxTarget, AnyMessage[]> = { 'next-turn': [], 'next-step': [] }

  constructor(session: NewerSession, notes: InboxNotes) {
    this.#session = session
    this.#notes = notes
    for (const event of session.snapshotEvents(session.inheritedEventCount)) {
      if (event.type === 'agent/inbox/spliced') this.#apply(event.data as Splice)
    }
  }

  get nextTurn(): readonly AnyMessage[] {
    return this.#lists['next-turn']
  }

  get nextStep(): readonly AnyMessage[] {
    return this.#lists['next-step']
  }

  append(target: InboxTarget, message: AnyMessage): void {
    this.splice(target, this.#lists[target].length, 0, [message])
  }

  prepend(target: InboxTarget, message: AnyMessage): void {
    this.splice(target, 0, 0, [message])
  }

  replace(id: string, message: AnyMessage): boolean {
    return this.#at(id, (target, index) => this.splice(target, index, 1, [message]))
  }

  remove(id: string): boolean {
    return this.#at(id, (target, index) => this.splice(target, index, 1, []))
  }

  clear(): void {
    this.splice('next-step', 0, this.nextStep.length, [])
    this.splice('next-turn', 0, this.nextTurn.length, [])
  }

  splice(target: InboxTarget, start: number, deleteCount: number, inserted: readonly AnyMessage[]): AnyMessage[] {
    return this.#mutate(target, start, deleteCount, inserted, 'canceled')
  }

  /** For the loop: takes what a step may bring in. */
  claim(target: InboxTarget, turn: number): AnyMessage[] {
    const claimed = this.#mutate('next-step', 0, this.nextStep.length, [])
    if (target === 'next-turn') claimed.push(...this.#mutate('next-turn', 0, 1, []))
    for (const message of claimed) this.#notes.claimed(message, turn)
    return claimed
  }

  #mutate(
    target: InboxTarget, start: number, deleteCount: number, inserted: readonly AnyMessage[], outcome?: 'canceled',
  ): AnyMessage[] {
    const list = this.#lists[target]
    const at = Math.min(Math.max(start, 0), list.length)
    const removedCount = Math.min(Math.max(deleteCount, 0), list.length - at)
    if (removedCount === 0 && inserted.length === 0) return []
    const kept = [...this.nextTurn, ...this.nextStep].filter(message => !list.slice(at, at + removedCount).includes(message))
    for (const { id } of inserted) {
      if (kept.some(message => message.id === id)) throw new Error(`message "${id}" is already pending`)
    }
    const event = this.#session.append('agent/inbox/spliced', {
      target, start: at, ...removedCount === 0 ? {} : { removedCount }, inserted,
      ...removedCount > 0 && outcome !== undefined ? { outcome } : {},
    })
    const removed = this.#apply(event.data as Splice)
    if (outcome !== undefined) removed.forEach((message) => { this.#notes.discarded(message) })
    for (const message of (event.data as Splice).inserted) this.#notes.inserted(message)
    return removed
  }

  #apply({ target, start, removedCount = 0, inserted }: Splice): AnyMessage[] {
    return this.#lists[target].splice(start, removedCount, ...inserted)
  }

  #at(id: string, change: (target: InboxTarget, index: number) => void): boolean {
    for (const target of ['next-turn', 'next-step'] as const) {
      const index = this.#lists[target].findIndex(message => message.id === id)
      if (index < 0) continue
      change(target, index)
      return true
    }
    return false
  }
}
