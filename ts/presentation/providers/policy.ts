/**
 * A provider for automation (P11): answers by explicit rules and refuses everything else. A refusal is `unavailable`,
 * never an approval and never a made-up answer.
 *
 * The first rule whose conditions all hold decides. Rules that allow an operation, or send a request on to a person,
 * need the handler that does it.
 *
 * @module
 */

import type { PresentationRequestContext, PresentationResult } from '../common.ts'
import type {
  ApprovalRequest,
  QuestionRequest,
  SecretInputRequest,
  UserInteractionRequest,
  UserInteractionValue,
} from '../interaction.ts'
import { ACCEPTED, submitted, unavailable } from './contract.ts'
import type { AnyInteract, Eventually, Provider } from './contract.ts'
import { answersFor } from './policy/answers.ts'
import { validateRules } from './policy/validate.ts'
import type {
  ApprovalRule,
  ExternalRedirectRule,
  OpenExternalRule,
  PolicyRule,
  QuestionRule,
  SecretInputRule,
} from './policy/rules.ts'
import { matchesAny, riskRank } from './policy/match.ts'
import { webUrl } from './web-url.ts'

export type * from './contract.ts'
export type * from './policy/rules.ts'

export interface PolicyProviderOptions {
  /** First match decides. Copied and frozen. */
  readonly rules: readonly PolicyRule[]
  /** Carries out what `allow` and `ask` send on: another provider, or the handlers of one's own. */
  readonly handlers?: Partial<Provider>
}

/** Reason of a request that no rule admits. */
export const POLICY_REFUSED = 'policy-refused'
/** Reason of a request that a rule sends on to a handler that is not there. */
export const NO_HANDLER = 'policy-no-handler'
/** Reason of a question whose rule has no valid answer for it, or a secret whose source failed. */
export const NO_ANSWER = 'policy-no-answer'

/**
 * Makes a provider.
 *
 * @throws TypeError naming the first thing that is wrong in the rules.
 */
export function policyProvider(options: PolicyProviderOptions): Provider {
  const rules = validateRules(options.rules)
  const handlers = options.handlers ?? {}
  const find = <Kind extends PolicyRule['kind']>(
    kind: Kind,
    request: PresentationRequestContext,
    holds: (rule: Extract<PolicyRule, { kind: Kind }>) => boolean,
  ): Extract<PolicyRule, { kind: Kind }> | undefined =>
    rules.find((rule): rule is Extract<PolicyRule, { kind: Kind }> =>
      rule.kind === kind && matchesAny(rule.origin, request.origin) && holds(rule as Extract<PolicyRule, { kind: Kind }>))

  function decide(request: UserInteractionRequest): Decision | Promise<Decision> {
    switch (request.kind) {
      case 'question':
        return decideQuestion(find('question', request, rule => holdsForQuestion(rule, request)), request)
      case 'approval':
        return decideApproval(find('approval', request, rule => holdsForApproval(rule, request)))
      case 'secret-input':
        return decideSecret(find('secret-input', request, rule => matchesAny(rule.labels, request.label)), request)
    }
  }

  const interact: AnyInteract = async (request, context) => {
    const decision = await decide(request)
    if (decision !== 'ask') return decision
    return handlers.interact === undefined
      ? unavailable(NO_HANDLER)
      : (handlers as { interact: AnyInteract }).interact(request, context)
  }

  return Object.freeze({
    async openExternal(request, context) {
      const rule = find('open-external', request, rule => holdsForUri(rule, request.uri))
      return carryOut(rule?.decision, () => handlers.openExternal?.(request, context))
    },
    async copyText(request, context) {
      const rule = find('copy-text', request, rule => request.text.length <= (rule.maxLength ?? Infinity))
      return carryOut(rule?.decision, () => handlers.copyText?.(request, context))
    },
    async notify(request, context) {
      const rule = find('notification', request, () => true)
      return rule?.decision === 'accept'
        ? ACCEPTED
        : carryOut(rule?.decision, () => handlers.notify?.(request, context))
    },
    interact: interact as Provider['interact'],
    async receive(request, context) {
      const rule = find('external-redirect', request, rule => holdsForRedirect(rule, request.exactRedirectUri))
      return carryOut(rule?.decision, () => handlers.receive?.(request, context))
    },
  } satisfies Provider)
}

function carryOut<Value>(
  decision: 'allow' | 'deny' | undefined,
  handle: () => Eventually<Value> | undefined,
): Eventually<Value> {
  return decision === 'allow' ? handle() ?? unavailable(NO_HANDLER) : unavailable(POLICY_REFUSED)
}

function holdsForUri(rule: OpenExternalRule, uri: string): boolean {
  const host = webUrl(uri)?.hostname
  return host !== undefined && matchesAny(rule.hosts, host)
}

function holdsForRedirect(rule: ExternalRedirectRule, exact: string | undefined): boolean {
  const { exactRedirectUris } = rule
  if (exact === undefined) return exactRedirectUris === undefined
  return exactRedirectUris !== undefined && matchesAny(exactRedirectUris, exact)
}

function holdsForApproval(rule: ApprovalRule, { action, risk }: ApprovalRequest): boolean {
  return matchesAny(rule.actions, action) && riskRank(risk) <= riskRank(rule.maxRisk)
}

function holdsForQuestion(rule: QuestionRule, { title }: QuestionRequest): boolean {
  return rule.titles === undefined || (title !== undefined && matchesAny(rule.titles, title))
}

type Decision = PresentationResult<UserInteractionValue> | 'ask'

function decideApproval(rule: ApprovalRule | undefined): Decision {
  switch (rule?.decision) {
    case 'approve':
      return submitted(Object.freeze({ decision: 'approved' as const }))
    case 'deny':
      return submitted(Object.freeze({ decision: 'denied' as const }))
    case 'ask':
      return 'ask'
    default:
      return unavailable(POLICY_REFUSED)
  }
}

function decideQuestion(rule: QuestionRule | undefined, request: QuestionRequest): Decision {
  switch (rule?.decision) {
    case 'answer': {
      const answers = answersFor(request.fields, rule.answers ?? {})
      return answers === undefined ? unavailable(NO_ANSWER) : submitted(Object.freeze({ answers }))
    }
    case 'ask':
      return 'ask'
    default:
      return unavailable(POLICY_REFUSED)
  }
}

/** The source's own error stays inside: it could hold a part of the secret. */
async function decideSecret(
  rule: SecretInputRule | undefined,
  { minLength = 0, maxLength = Infinity }: SecretInputRequest,
): Promise<Decision> {
  switch (rule?.decision) {
    case 'supply': {
      let secret: unknown
      try {
        secret = await rule.source?.()
      } catch {
        return unavailable(NO_ANSWER)
      }
      if (typeof secret !== 'string' || secret === '') return unavailable(NO_ANSWER)
      const fits = secret.length >= minLength && secret.length <= maxLength
      return fits ? submitted(Object.freeze({ secret })) : unavailable(NO_ANSWER)
    }
    case 'ask':
      return 'ask'
    default:
      return unavailable(POLICY_REFUSED)
  }
}
