/** Calls between the benchmark and its child processes, over the IPC channel of `child_process.fork`. */
import { fork } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'

/** Method name -> asynchronous function of one argument. */
export type Methods = Record<string, (argument: never) => Promise<unknown>>

interface Request { readonly call: number, readonly method: string, readonly argument: unknown }
type Response = { readonly call: number } & ({ readonly result: unknown } | { readonly error: string })

/** Serves `methods` to the parent process. */
export function serve(methods: Methods): void {
  process.on('message', ({ call, method, argument }: Request) => {
    const handler = methods[method] as ((argument: unknown) => Promise<unknown>) | undefined
    if (handler === undefined) throw new Error(`unknown method ${method}`)
    handler(argument).then(
      result => process.send?.({ call, result } satisfies Response),
      (error: unknown) => process.send?.({ call, error: error instanceof Error ? String(error.stack) : String(error) } satisfies Response),
    )
  })
  process.once('disconnect', () => process.exit())
}

/** A child process that serves methods. */
export class Child<M extends Methods> {
  readonly #process: ChildProcess
  readonly #waiting = new Map<number, PromiseWithResolvers<unknown>>()
  #calls = 0

  constructor(module: URL, options: { readonly arguments?: readonly string[], readonly nodeFlags?: readonly string[] } = {}) {
    this.#process = fork(module, options.arguments ?? [], { execArgv: [...options.nodeFlags ?? []], serialization: 'advanced' })
    this.#process.on('message', (response: Response) => {
      const waiting = this.#waiting.get(response.call)
      this.#waiting.delete(response.call)
      if ('error' in response) waiting?.reject(new Error(response.error))
      else waiting?.resolve(response.result)
    })
    this.#process.once('exit', (code, signal) => {
      for (const waiting of this.#waiting.values()) waiting.reject(new Error(`child process ended: ${signal ?? code}`))
      this.#waiting.clear()
    })
  }

  get pid(): number {
    if (this.#process.pid === undefined) throw new Error('child process did not start')
    return this.#process.pid
  }

  call<K extends keyof M & string>(method: K, argument: Parameters<M[K]>[0]): ReturnType<M[K]> {
    const call = this.#calls++
    const waiting = Promise.withResolvers<unknown>()
    this.#waiting.set(call, waiting)
    this.#process.send({ call, method, argument } satisfies Request)
    return waiting.promise as ReturnType<M[K]>
  }

  /** Closes the channel, which ends the child, and waits for it. */
  async stop(): Promise<void> {
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) return
    const exited = once(this.#process, 'exit')
    this.#process.disconnect()
    await exited
  }
}
