/** What the test and the process of a Host that it will kill say to each other. */

/** The gateway's secret. */
export const SECRET = 'a secret of this test'

/**
 * What reaches the disk. `written`: everything that was logged before the model or a Tool takes a step. `held`: nothing
 * but what somebody waits for.
 */
export type Disk = 'written' | 'held'

export type ToHost =
  /** Boots a Host on a home; one that was booted before is disposed. */
  | { readonly type: 'boot', readonly home: string, readonly disk: Disk }
  /** Disposes the Host. */
  | { readonly type: 'close' }
  /** Lets the model or the Tool that asked take its step. */
  | { readonly type: 'step' }

export type FromHost =
  | { readonly type: 'booted', readonly url: string }
  | { readonly type: 'closed' }
  /** A request has come in. */
  | { readonly type: 'request' }
  /** The model or a Tool asks to take a step. `frames` were written to responses before, since the Host was booted. */
  | { readonly type: 'ask', readonly frames: number }
