/** What a case is: work for a rig, and how its numbers are read. */
import type { Rig } from '../harness/rig.ts'
import type { Limits } from '../server/arms.ts'

/** `full` measures; `small` only shows that everything runs. */
export type Scale = 'full' | 'small'

export interface Metric {
  readonly label: string
  readonly unit: string
  /**
   * What the ratio compares. `own`: the arm without a gateway is subtracted first. `whole`: the number as it is.
   */
  readonly share: 'own' | 'whole'
}

export interface Case<Name extends string = string> {
  readonly name: string
  readonly title: string
  /** Limits of both gateways; the default ones where empty. */
  readonly limits: Limits
  readonly metrics: Readonly<Record<Name, Metric>>
  /** Measures one arm once. A metric that the arm cannot have (a response time without HTTP) is left out. */
  measure(rig: Rig, scale: Scale): Promise<Partial<Record<Name, number>>>
}
