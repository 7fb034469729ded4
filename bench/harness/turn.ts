/** What the cases ask of every arm: turns of conversations, and how they are put as HTTP bodies. */

/** A message that the client sends or resends. */
export interface BenchMessage {
  readonly id: string
  readonly role: 'user' | 'assistant'
  readonly content: string
}

/** One run of one thread. Without new messages it only reads the history. */
export interface Turn {
  readonly threadId: string
  readonly runId: string
  /** Messages that the thread holds already and the client resends. Seen by the gateways only. */
  readonly known?: readonly BenchMessage[]
  /** New messages; they open one turn. */
  readonly messages: readonly BenchMessage[]
}

/** How the scripted model of `server/model.ts` produces deltas. */
export type Pace = 'yielding' | 'blocking'

/** A user message that makes the model answer with `deltas` deltas of 8 characters. */
export function ask(id: string, deltas: number, pace: Pace, padding = ''): BenchMessage {
  return { id, role: 'user', content: `${padding}[deltas=${deltas}]${pace === 'yielding' ? '[yield]' : ''}` }
}

/** `count` threads with one turn each, to run at once. */
export function parallelTurns(prefix: string, count: number, deltas: number, pace: Pace): Turn[][] {
  return Array.from({ length: count }, (_, index) => [{
    threadId: `${prefix}-${index}`,
    runId: `${prefix}-${index}-run`,
    messages: [ask(`${prefix}-${index}-message`, deltas, pace)],
  }])
}

/** The request body of a turn. */
export function bodyOf({ threadId, runId, known = [], messages }: Turn): string {
  return JSON.stringify({ threadId, runId, state: {}, messages: [...known, ...messages], tools: [], context: [], forwardedProps: {} })
}
