/**
 * A provider for people at a terminal (P11): asks questions, approvals and secrets in raw mode, opens pages, copies
 * text and shows notifications. One request has the terminal at a time; the others wait.
 *
 * A consumer's words are shown as data: control characters and bidirectional overrides as visible escapes, every row
 * after a bar that the provider's own words never have.
 *
 * @module
 */

import type { PresentationResult } from '../common.ts'
import type { UserInteractionValue } from '../interaction.ts'
import type { CopyTextRequest, NotificationRequest, OpenExternalRequest } from '../operations.ts'
import { externalRedirectHandler } from '../redirect.ts'
import type { ExternalRedirectHandlerOptions } from '../redirect.ts'
import { ACCEPTED, CANCELLED, unavailable } from './contract.ts'
import type { AnyInteract, HandlerContext, Provider, Receipt } from './contract.ts'
import { clipboardRoutes, osc52, runClipboardCommand } from './terminal/clipboard.ts'
import type { ClipboardRoute } from './terminal/clipboard.ts'
import { approval, question, secretInput } from './terminal/interaction.ts'
import { hasGraphicalEnvironment, openInBrowser } from './terminal/launch.ts'
import type { Launcher } from './terminal/launch.ts'
import { QUOTE } from './terminal/layout.ts'
import { CHINESE, ENGLISH, messagesFor } from './terminal/messages.ts'
import { NO_TERMINAL, Session } from './terminal/session.ts'
import type { Input, TerminalOutput } from './terminal/keyboard.ts'
import { visibleLine, visibleLines } from './terminal/visible.ts'
import { webUrl } from './web-url.ts'

export type { Input, Launcher, TerminalOutput }
export type * from './contract.ts'

export interface TerminalProviderOptions {
  /** Default `process.stdin`. While a request is shown, its other readers are detached. */
  readonly input?: Input
  /** Default `process.stdout`. */
  readonly output?: TerminalOutput
  /** Language of the provider's own words. Default: that of `env`. */
  readonly language?: 'en' | 'zh'
  /** Default `process.env`. */
  readonly env?: NodeJS.ProcessEnv
  /** Requests that may wait for the terminal, the one being shown included. Default 16. */
  readonly maxQueued?: number
  /**
   * As it was told to the Host, also by a policy provider that sends requests on to this one. `explicit`: asks the Host
   * when a request's turn comes, so that one which waits for the terminal can still move; where the Host was told
   * `on-offer`, it says no and every request is cancelled. Default `on-offer`.
   */
  readonly presenting?: 'on-offer' | 'explicit'
  /** Opens a page. Default: the system's browser, when there is a graphical environment. */
  readonly launch?: Launcher
  /** For the redirect receivers. */
  readonly redirect?: ExternalRedirectHandlerOptions
}

/** A provider of all five kinds, for the implementation binder of each. */
export interface TerminalProvider extends Provider {
  /** Cancels what is shown and what waits, and refuses from now on. The terminal is as it was when this returns. */
  close(): Promise<void>
}

/**
 * Makes a provider.
 *
 * Reasons of its `unavailable` results: `no-terminal` (input or output is not a terminal, or the
 * provider is closed), `terminal-queue-full`, `uri-rejected`, `no-graphical-environment`, `launch-failed`,
 * `no-clipboard`.
 *
 * @throws TypeError when `maxQueued` is not a positive safe integer.
 */
export function terminalProvider(options: TerminalProviderOptions = {}): TerminalProvider {
  const { env = process.env, launch, maxQueued = 16 } = options
  if (!Number.isSafeInteger(maxQueued) || maxQueued < 1) throw new TypeError('maxQueued must be a positive safe integer')
  const messages = options.language === undefined
    ? messagesFor(env)
    : { en: ENGLISH, zh: CHINESE }[options.language]
  const session = new Session({
    input: options.input ?? process.stdin,
    output: options.output ?? process.stdout,
    messages,
    maxQueued,
    presenting: options.presenting ?? 'on-offer',
  })
  let pending: Promise<unknown> = Promise.resolve()

  async function openExternal({ uri, origin }: OpenExternalRequest): Promise<PresentationResult<Receipt>> {
    // In the spelling that a browser gives it.
    const page = webUrl(uri)?.href
    if (page === undefined) return unavailable('uri-rejected')
    if (launch === undefined && !hasGraphicalEnvironment(process.platform, env)) {
      return unavailable('no-graphical-environment')
    }
    try {
      await (launch ?? openInBrowser)(page)
    } catch {
      return unavailable('launch-failed')
    }
    if (session.isInteractive) {
      session.print([
        { text: messages.opened(visibleLine(origin)), style: 'strong' },
        { text: visibleLine(page), prefix: QUOTE },
      ])
    }
    return ACCEPTED
  }

  async function copyText({ text, origin }: CopyTextRequest): Promise<PresentationResult<Receipt>> {
    if (!session.isInteractive) return unavailable(NO_TERMINAL)
    for (const route of clipboardRoutes(process.platform, env)) {
      if (!await copyBy(route, text)) continue
      // Never the text itself: it may be private, and the screen keeps it.
      session.print([{ text: messages.copied(visibleLine(origin), text.length), style: 'strong' }])
      return ACCEPTED
    }
    return unavailable('no-clipboard')
  }

  async function copyBy(route: ClipboardRoute, text: string): Promise<boolean> {
    if (route !== 'osc-52') return runClipboardCommand(route, text)
    const sequence = osc52(text)
    if (sequence !== undefined) session.send(sequence)
    return sequence !== undefined
  }

  async function notify(request: NotificationRequest): Promise<PresentationResult<Receipt>> {
    if (!session.isInteractive) return unavailable(NO_TERMINAL)
    const { text, origin, level = 'info' } = request
    session.print([
      { text: messages.notifies(visibleLine(origin), level), style: level === 'info' ? 'strong' : 'warning' },
      ...visibleLines(text).map(line => ({ text: line, prefix: QUOTE })),
    ])
    return ACCEPTED
  }

  const interact: AnyInteract = (request, context) => {
    const result = session.hold<UserInteractionValue>(request, context, (dialogue) => {
      switch (request.kind) {
        case 'question':
          return question(request, dialogue, messages)
        case 'approval':
          return approval(request, dialogue, messages)
        case 'secret-input':
          return secretInput(request, dialogue, messages)
      }
    })
    pending = Promise.allSettled([pending, result])
    return result
  }

  return Object.freeze({
    openExternal: unlessAborted(openExternal),
    copyText: unlessAborted(copyText),
    notify: unlessAborted(notify),
    interact: interact as Provider['interact'],
    receive: externalRedirectHandler(options.redirect).receive,
    async close() {
      session.close()
      await pending
    },
  })
}

function unlessAborted<Request>(handle: (request: Request) => Promise<PresentationResult<Receipt>>) {
  return async (request: Request, { signal }: HandlerContext): Promise<PresentationResult<Receipt>> =>
    signal.aborted ? CANCELLED : handle(request)
}
