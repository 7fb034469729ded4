/**
 * Holds an agent's reports back until its history has been taken.
 *
 * @module
 */

import type { AgentEvents } from './port.ts'

/** One report, to be made later. */
type Report = (target: AgentEvents) => void

/** Collects reports in order. */
export class HeldReports implements AgentEvents {
  #reports: Report[] = []

  /** Makes the reports, and those that they cause, in order; nothing is held afterwards. */
  release(target: AgentEvents): void {
    for (let next = this.#reports.shift(); next !== undefined; next = this.#reports.shift()) next(target)
  }

  /** Forgets what is held: a log that is read later contains it. */
  clear(): void {
    this.#reports = []
  }

  record(json: string): void {
    this.#reports.push(target => target.record(json))
  }

  attemptStart(turn: number, step: number): void {
    this.#reports.push(target => target.attemptStart(turn, step))
  }

  text(delta: string): void {
    this.#reports.push(target => target.text(delta))
  }

  reasoning(delta: string): void {
    this.#reports.push(target => target.reasoning(delta))
  }

  toolCall(callId: string, name: string | undefined, delta: string): void {
    this.#reports.push(target => target.toolCall(callId, name, delta))
  }

  blockEnd(): void {
    this.#reports.push(target => target.blockEnd())
  }

  attemptEnd(committed: boolean): void {
    this.#reports.push(target => target.attemptEnd(committed))
  }

  body(callId: string, running: boolean): void {
    this.#reports.push(target => target.body(callId, running))
  }

  toolsChanged(): void {
    this.#reports.push(target => target.toolsChanged())
  }

  status(status: 'idle' | 'running'): void {
    this.#reports.push(target => target.status(status))
  }

  gone(): void {
    this.#reports.push(target => target.gone())
  }
}

/** Takes every report and makes none: where the reports of a disposed agent go. */
export const SILENCE: AgentEvents = {
  record() {},
  attemptStart() {},
  text() {},
  reasoning() {},
  toolCall() {},
  blockEnd() {},
  attemptEnd() {},
  body() {},
  toolsChanged() {},
  status() {},
  gone() {},
}
