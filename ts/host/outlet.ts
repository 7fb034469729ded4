/**
 * Holds an agent's reports back until its history has been taken.
 *
 * @module
 */

import type { AgentEvents, PersonOutcome, PersonRequest } from './port.ts'

/** One report, to be made later. */
type Report = (target: AgentEvents) => void

/** Collects reports in order. */
export class HeldReports implements AgentEvents {
  #reports: Report[] = []
  readonly #requests: Report[] = []

  /** Makes the reports, and those that they cause, in order, then the requests; nothing is held afterwards. */
  release(target: AgentEvents): void {
    for (const held of [this.#reports, this.#requests]) {
      for (let next = held.shift(); next !== undefined; next = held.shift()) next(target)
    }
  }

  /** Forgets the reports that are held: a log that is read later contains them. */
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

  ask(request: PersonRequest, signal: AbortSignal): Promise<PersonOutcome> {
    return new Promise((resolve) => {
      this.#requests.push(target => resolve(target.ask(request, signal)))
    })
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
  ask: () => Promise.resolve({ status: 'cancelled', message: 'the agent is gone' }),
  gone() {},
}
