/** The one error class of the Host's remote surface in B and C: told apart by `code`, never by class (host-api §4.1). */
export class RemoteError extends Error {
  override readonly name = 'RemoteError'
  readonly isDSHRemoteError = true
  readonly code: string
  readonly details: Readonly<Record<string, unknown>>

  constructor(code: string, message: string, details: Readonly<Record<string, unknown>> = {}, options?: ErrorOptions) {
    super(message, options)
    this.code = code
    this.details = details
  }
}
