/**
 * Presentation cards of Tool calls and results, computed where the Tool executes (G14, host-api §3.6).
 *
 * Live and cold, a card is made from the same durable facts by the same definition, so they cannot differ while the
 * Tool is registered.
 *
 * @module
 */

import { toolOutcome } from './compat.ts'

/**
 * Where the gateway keeps the client's own result id in a result's metadata. No presenter ever sees it
 * (spec: gateway, HTTP and run semantics).
 */
export const FRONTEND_RESULT_ID = '@dsh-ag-ui/frontend-result-id'

/** The presenters of a Tool definition, alike in every generation of DSH. */
export interface Presenters {
  presentCall?(args: unknown): unknown
  presentResult?(args: unknown, result: { content: unknown, isError: boolean, meta?: unknown }): unknown
}

/** Finds the definition that the executing agent sees under a name. */
export type PresenterLookup = (name: string) => Presenters | undefined

interface PendingCall {
  readonly definition: Presenters
  readonly args: unknown
}

/** Computes the cards of one session. Its events must pass in order. */
export class CardReader {
  readonly #lookup: PresenterLookup
  /** Calls that wait for their result. A provider may reuse a call id later; results come before that. */
  readonly #calls = new Map<string, PendingCall>()

  /** @param lookup - Resolves names in the scope of the session's agent. */
  constructor(lookup: PresenterLookup) {
    this.#lookup = lookup
  }

  /**
   * The card of a `tool/call`.
   *
   * @param data - The event's data.
   * @returns JSON text; `null` where the Tool gives no view; `undefined` where no such Tool is known.
   */
  ofCall(data: unknown): string | undefined {
    const { callId, name, arguments: raw } = data as { callId: string, name: string, arguments: string }
    const definition = this.#lookup(name)
    if (definition === undefined) return undefined
    const args = parseArguments(raw)
    this.#calls.set(callId, { definition, args })
    return present(() => definition.presentCall?.(args))
  }

  /**
   * The card of a `tool/result`, by the definition that its call found: it survives an unregistration meanwhile.
   *
   * @param data - The event's data.
   * @returns As {@link ofCall}.
   */
  ofResult(data: unknown): string | undefined {
    const outcome = toolOutcome(data)
    if (outcome === undefined) return undefined
    const call = this.#calls.get(outcome.callId)
    if (call === undefined) return undefined
    this.#calls.delete(outcome.callId)
    const { content, isError } = outcome
    const meta = publicMeta(outcome.meta)
    return present(() =>
      call.definition.presentResult?.(call.args, { content, isError, ...(meta === undefined ? {} : { meta }) }))
  }
}

/** Arguments as DSH hands them to a Tool: empty text is no arguments, broken JSON stays text. */
function parseArguments(raw: string): unknown {
  if (raw === '') return {}
  try {
    return JSON.parse(raw)
  } catch {
    return raw
  }
}

/** Runs a presenter, which may throw on arguments it did not expect or return what JSON cannot carry. */
function present(view: () => unknown): string {
  try {
    return JSON.stringify(view()) ?? 'null'
  } catch {
    return 'null'
  }
}

/** Metadata without the gateway's own key; none when nothing else is in it. */
function publicMeta(meta: unknown): unknown {
  if (typeof meta !== 'object' || meta === null || !Object.hasOwn(meta, FRONTEND_RESULT_ID)) return meta
  const { [FRONTEND_RESULT_ID]: _, ...rest } = meta as Record<string, unknown>
  return Object.keys(rest).length === 0 ? undefined : rest
}
