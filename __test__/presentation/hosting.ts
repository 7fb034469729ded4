/** Shared set-up of the Host's tests: providers that hold their requests until the test answers. */

import { createPresentationHost } from 'dsh-ag-ui/presentation'
import type {
  CapabilityImplementation, PresentationHandlerContext, PresentationHost, PresentationHostOptions, ProtocolRequirement,
} from 'dsh-ag-ui/presentation'
import {
  API_VERSION, copyTextImplementation, externalRedirectImplementation, notificationImplementation, openExternalImplementation,
  userInteractionImplementation,
} from 'dsh-ag-ui/presentation'

/** A request that a provider works on. */
export interface Held {
  readonly request: any
  readonly context: PresentationHandlerContext<any>
  answer(result: unknown): void
  fail(error: unknown): void
}

/** A provider whose requests wait for the test. */
export class Desk {
  readonly implementations: CapabilityImplementation[]
  readonly #held: Held[] = []
  readonly #waiting: ((held: Held) => void)[] = []

  constructor(participantId: string) {
    const hold = (request: any, context: any): Promise<any> => new Promise((answer, fail) => {
      const held = { request, context, answer, fail }
      const waiting = this.#waiting.shift()
      if (waiting) waiting(held)
      else this.#held.push(held)
    })
    this.implementations = [
      openExternalImplementation(participantId, { openExternal: hold }),
      copyTextImplementation(participantId, { copyText: hold }),
      notificationImplementation(participantId, { notify: hold }),
      userInteractionImplementation(participantId, { operations: ['question', 'approval', 'secret-input'] }, { interact: hold } as never),
      externalRedirectImplementation(participantId, { receive: hold }),
    ]
  }

  /** The next request that arrives. */
  next(): Promise<Held> {
    const held = this.#held.shift()
    return held ? Promise.resolve(held) : new Promise(resolve => { this.#waiting.push(resolve) })
  }

  /** How many arrived that nobody took. */
  get idle(): number {
    return this.#held.length
  }
}

export const EVERYTHING: readonly ProtocolRequirement[] = [
  ...['OpenExternal', 'CopyText', 'Notification', 'ExternalRedirect'].map(kind => ({ apiVersion: API_VERSION, kind })),
  { apiVersion: API_VERSION, kind: 'UserInteraction', spec: { operations: ['question', 'approval', 'secret-input'] } },
]

const made: PresentationHost[] = []

/** A Host that {@link closeHosts} closes: a pending request keeps a process alive. */
export function makeHost(options?: PresentationHostOptions): PresentationHost {
  const host = createPresentationHost(options)
  made.push(host)
  return host
}

/** Closes every Host that a test made. */
export function closeHosts(): void {
  for (const host of made.splice(0)) host.close()
}

/** A Host with one provider, one consumer and one invocation. */
export function hosted(options?: PresentationHostOptions, presenting: 'on-offer' | 'explicit' = 'on-offer') {
  const host = makeHost(options)
  const desk = new Desk('tui')
  const provider = host.provide('tui', desk.implementations, { presenting })
  const consumer = host.admit('plugin', EVERYTHING)
  const invocation = host.open(consumer)
  return { host, desk, provider, consumer, invocation, clients: invocation.clients! }
}

export const APPROVAL = { kind: 'approval', action: 'delete', summary: 'Delete the file' } as const
export const SECRET = { kind: 'secret-input', label: 'Token' } as const
export const ACCEPTED = { status: 'submitted', value: { accepted: true } } as const
export const APPROVED = { status: 'submitted', value: { decision: 'approved' } } as const
