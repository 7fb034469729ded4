/**
 * Protocol definitions for a catalog: specs and negotiation, both judged in Rust.
 *
 * @module
 */

import { negotiatePresentation, validatePresentationSpec } from 'dsh-ag-ui/native'
import { API_VERSION } from './common.ts'
import type { PresentationKind } from './common.ts'
import type { CapabilityBindings, ProtocolDefinition, ProtocolIssue, ProtocolNegotiationInput, ProtocolSupport } from './model.ts'
import { snapshot } from './snapshot.ts'
import { native } from './validation.ts'

/** Validates a spec and gives its frozen copy. Throws a `TypeError`. */
export function checkSpec(side: 'requirement' | 'support', kind: PresentationKind, spec: unknown): unknown {
  const label = kind === 'UserInteraction' ? `UserInteraction ${side} spec` : kind
  const copy = spec === undefined ? undefined : snapshot(spec, label)
  native(() => { validatePresentationSpec(side, kind, copy === undefined ? undefined : JSON.stringify(copy)) })
  return copy
}

/** The definition of a kind. */
export function defineProtocol<Requirement, Support>(kind: PresentationKind): ProtocolDefinition<Requirement, Support> {
  return Object.freeze({
    apiVersion: API_VERSION,
    kind,
    validateRequirement: (spec: unknown) => checkSpec('requirement', kind, spec) as Requirement,
    validateSupport: (spec: unknown) => checkSpec('support', kind, spec) as Support,
    negotiate: (input: ProtocolNegotiationInput<Requirement, Support>) => negotiate(kind, input),
  })
}

/** The support of a kind that has no spec. */
export function plainSupport(kind: PresentationKind): ProtocolSupport {
  return Object.freeze({ apiVersion: API_VERSION, kind })
}

interface Negotiated {
  readonly bindings: readonly (readonly [requirement: number, support: number])[]
  readonly issues: readonly ProtocolIssue[]
}

function negotiate<Requirement, Support>(
  kind: PresentationKind,
  input: ProtocolNegotiationInput<Requirement, Support>,
): { readonly agreement: CapabilityBindings<Requirement, Support>, readonly issues: readonly ProtocolIssue[] } {
  const text = JSON.stringify(snapshot({
    requirements: input.requirements.map(({ participant, requirement }) => ({
      participant, optional: requirement.optional, spec: requirement.spec,
    })),
    supports: input.supports.map(({ participant, support }) => ({ participant, spec: support.spec })),
    endpoints: endpoints(input),
  }, 'Protocol negotiation'))
  const found = JSON.parse(native(() => negotiatePresentation(kind, text))) as Negotiated
  const bindings = found.bindings.map(([requirement, support]) => {
    const consumer = input.requirements[requirement]!
    const provider = input.supports[support]!
    return Object.freeze({
      consumer: consumer.participant,
      provider: provider.participant,
      requirement: consumer.requirement,
      support: provider.support,
    })
  })
  return Object.freeze({
    agreement: Object.freeze({ kind: 'CapabilityBindings' as const, bindings: Object.freeze(bindings) }),
    issues: Object.freeze(found.issues.map(issue => Object.freeze(issue))),
  })
}

/** Where the participants of the negotiation live, if the policy knows. */
function endpoints(input: ProtocolNegotiationInput): Record<string, string> | undefined {
  const { policy } = input
  if (typeof policy !== 'object' || policy === null || !('endpointByParticipant' in policy)) return undefined
  const map = policy.endpointByParticipant
  if (typeof map !== 'object' || map === null) return undefined
  const known: Record<string, string> = {}
  for (const { participant } of [...input.requirements, ...input.supports]) {
    const endpoint: unknown = Object.hasOwn(map, participant) ? (map as Record<string, unknown>)[participant] : undefined
    if (typeof endpoint === 'string') known[participant] = endpoint
  }
  return known
}
