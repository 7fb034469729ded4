/** A refusal that the client may see: before the stream as a status with JSON, inside it as `RUN_ERROR`. */
export class GatewayError extends Error {
  readonly status: number
  readonly code: string

  constructor(status: number, code: string, message: string) {
    super(message)
    this.status = status
    this.code = code
  }
}
