/**
 * The rules of a policy provider. Every condition is a list: the rule holds when one entry fits. A list that is left
 * out fits everything; where that would be dangerous, it cannot be left out.
 *
 * An entry is compared whole. `*` at its end stands for any rest: `git.*` fits `git.push`.
 *
 * @module
 */

import type { Answer, Risk } from '../contract.ts'

interface Rule<Kind extends string> {
  readonly kind: Kind
  /** Participant identities of consumers. */
  readonly origin?: readonly string[]
}

export interface OpenExternalRule extends Rule<'open-external'> {
  readonly decision: 'allow' | 'deny'
  /** Hosts, without port. `*.example.org` fits every host below `example.org`. */
  readonly hosts: readonly string[]
}

export interface CopyTextRule extends Rule<'copy-text'> {
  readonly decision: 'allow' | 'deny'
  /** In UTF-16 code units. */
  readonly maxLength?: number
}

export interface NotificationRule extends Rule<'notification'> {
  /** `accept` takes the notification without showing it. */
  readonly decision: 'allow' | 'accept' | 'deny'
}

export interface ExternalRedirectRule extends Rule<'external-redirect'> {
  readonly decision: 'allow' | 'deny'
  /** Exact URIs that fit. Left out: only requests without an exact URI fit. */
  readonly exactRedirectUris?: readonly string[]
}

export interface ApprovalRule extends Rule<'approval'> {
  readonly decision: 'approve' | 'deny' | 'ask'
  readonly actions: readonly string[]
  /** Highest risk that fits; `approve` needs it, otherwise `high`. A request that states no risk counts as `high`. */
  readonly maxRisk?: Risk
}

export interface QuestionRule extends Rule<'question'> {
  readonly decision: 'answer' | 'ask' | 'deny'
  readonly titles?: readonly string[]
  /**
   * With `answer`: answers by field id. Every required field needs one, each has to fit its field, and answers to
   * fields that the question does not have are left out; otherwise the question is refused.
   */
  readonly answers?: Readonly<Record<string, Answer>>
}

export interface SecretInputRule extends Rule<'secret-input'> {
  readonly decision: 'supply' | 'ask' | 'deny'
  readonly labels: readonly string[]
  /** With `supply`: reads the secret when it is wanted. Nothing of it is kept. */
  readonly source?: () => string | undefined | Promise<string | undefined>
}

export type PolicyRule =
  | OpenExternalRule
  | CopyTextRule
  | NotificationRule
  | ExternalRedirectRule
  | ApprovalRule
  | QuestionRule
  | SecretInputRule
