/**
 * A connection and a catalog that know nothing of this package: structural stand-ins for the reference packages.
 */

import type {
  CapabilityCall, CapabilityClient, CapabilityHandlerContext, CapabilityImplementation, ProtocolDefinition, ProtocolIssue,
} from 'dsh-ag-ui/presentation'

export interface Invocation {
  readonly reference: unknown
  readonly operation: string
  readonly input: any
  readonly options: unknown
}

/** A client whose provider answers with `answer`; it records what it was asked. */
export function foreignClient(
  answer: (invocation: Invocation, progress: (value: unknown) => void) => unknown,
  kinds: readonly string[] = [],
): CapabilityClient & { readonly invocations: Invocation[] } {
  const invocations: Invocation[] = []
  return {
    participantId: 'plugin',
    invocations,
    binding: reference => (kinds.includes(reference.kind) ? ({} as never) : undefined),
    invoke<I, O, P>(reference: unknown, operation: string, input: I, options?: unknown): CapabilityCall<O, P> {
      const invocation = { reference, operation, input, options }
      invocations.push(invocation)
      const values: unknown[] = []
      const result = Promise.resolve().then(() => answer(invocation, value => values.push(value)))
      async function* progress() {
        await result.catch(() => {})
        yield* values
      }
      return { invocationId: 'call', result: result as Promise<O>, progress: progress() as AsyncIterable<P>, cancel() {} }
    },
  }
}

/** Calls an implementation as a foreign connection would. */
export function handle(
  implementation: CapabilityImplementation, operation: string, input: unknown, progress: (value: unknown) => void = () => {},
): Promise<any> {
  const context = { progress, signal: new AbortController().signal } as unknown as CapabilityHandlerContext
  return Promise.resolve(implementation.handle(operation, input, context))
}

interface Declaration {
  readonly participant: string
  readonly requires?: readonly any[]
  readonly supports?: readonly any[]
}

/** A catalog: registers definitions, negotiates declarations. */
export class Catalog {
  readonly definitions = new Map<string, ProtocolDefinition>()

  register(definition: ProtocolDefinition): () => void {
    if (this.definitions.has(definition.kind)) throw new Error(`${definition.kind} is registered`)
    this.definitions.set(definition.kind, definition)
    return () => { this.definitions.delete(definition.kind) }
  }

  negotiate(declarations: readonly Declaration[], policy?: unknown): { agreements: any[], issues: ProtocolIssue[] } {
    const agreements: any[] = []
    const issues: ProtocolIssue[] = []
    for (const definition of this.definitions.values()) {
      const rows = <K extends 'requires' | 'supports'>(key: K, name: string) => declarations.flatMap(declaration =>
        (declaration[key] ?? []).filter(row => row.kind === definition.kind).map(row => ({
          participant: declaration.participant,
          [name]: {
            ...row,
            spec: key === 'requires' ? definition.validateRequirement(row.spec) : definition.validateSupport(row.spec),
          },
        })))
      const requirements = rows('requires', 'requirement') as any
      if (requirements.length === 0) continue
      const found = definition.negotiate({ requirements, supports: rows('supports', 'support') as any, policy })
      if (found.agreement) agreements.push(found.agreement)
      issues.push(...(found.issues ?? []))
    }
    return { agreements, issues }
  }
}

/** A scope that counts its requests. */
export function scope(extra: object = {}) {
  let serial = 0
  return { invocationId: 'command-1', origin: 'example.plugin', nextRequestId: () => `request-${serial += 1}`, ...extra }
}
