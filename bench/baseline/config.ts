/** Configuration of the baseline: the fields of the gateway's own table that it honours, with the same defaults. */
export interface BaselineConfig {
  readonly provider: string
  readonly model: string
  /** Bearer secret shared with the caller. */
  readonly sharedSecret: string
  readonly workspaceRoot: string
  readonly path: string
  readonly tenantHeader: string
  readonly userHeader: string
  readonly maxRequestBytes: number
  readonly maxIdentityBytes: number
  readonly maxMessages: number
  readonly maxMessageBytes: number
  readonly maxContexts: number
  readonly maxContextBytes: number
  readonly maxTools: number
  readonly maxToolBytes: number
  readonly maxForwardedPropsBytes: number
  readonly maxStateBytes: number
  readonly maxThreads: number
  readonly threadIdleMs: number
  readonly maxRunEvents: number
  readonly maxRunEventBytes: number
  readonly maxRunsPerThread: number
}

/** What a caller must give. */
export type BaselineOptions =
  Pick<BaselineConfig, 'provider' | 'model' | 'sharedSecret' | 'workspaceRoot'> & Partial<BaselineConfig>

const DEFAULTS = {
  path: '/ag-ui',
  tenantHeader: 'x-dsh-tenant-id',
  userHeader: 'x-dsh-user-id',
  maxRequestBytes: 262_144,
  maxIdentityBytes: 256,
  maxMessages: 256,
  maxMessageBytes: 524_288,
  maxContexts: 32,
  maxContextBytes: 131_072,
  maxTools: 32,
  maxToolBytes: 131_072,
  maxForwardedPropsBytes: 65_536,
  maxStateBytes: 65_536,
  maxThreads: 100,
  threadIdleMs: 1_800_000,
  maxRunEvents: 4096,
  maxRunEventBytes: 2_097_152,
  maxRunsPerThread: 32,
}

/** Fills in the defaults. */
export function resolveConfig(options: BaselineOptions): BaselineConfig {
  return { ...DEFAULTS, ...options }
}
