/**
 * Drives a program in a real pseudo-terminal and reads its screen: Python's `pty` gives the terminal device,
 * `@xterm/headless` interprets what is written to it.
 */
import { spawn } from 'node:child_process'
import type { ChildProcessByStdio } from 'node:child_process'
import { EventEmitter, once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import xterm from '@xterm/headless'

const here = (name: string): string => fileURLToPath(new URL(name, import.meta.url))

export interface Started {
  readonly rows?: number
  readonly columns?: number
  readonly env?: NodeJS.ProcessEnv
}

/** A program at a terminal. */
export class Driver {
  readonly #child: ChildProcessByStdio<Writable, Readable, null>
  readonly #terminal: xterm.Terminal
  readonly #changes = new EventEmitter()
  readonly #exit: Promise<unknown[]>
  readonly #folder: string
  /** Everything that was written to the terminal. */
  raw = ''
  #ended = false

  private constructor(child: ChildProcessByStdio<Writable, Readable, null>, terminal: xterm.Terminal, folder: string) {
    this.#child = child
    this.#terminal = terminal
    this.#folder = folder
    this.#exit = once(child, 'exit')
    child.stdout.on('data', (chunk: Buffer) => {
      this.raw += chunk.toString('latin1')
      terminal.write(chunk, () => this.#changes.emit('change'))
    })
    child.stdout.on('end', () => {
      this.#ended = true
      this.#changes.emit('change')
    })
  }

  /** Starts the harness with a scenario. */
  static async start(scenario: string, { rows = 24, columns = 80, env = {} }: Started = {}): Promise<Driver> {
    const folder = await mkdtemp(join(tmpdir(), 'providers-'))
    const child = spawn(
      'python3',
      [here('providers-pty.py'), String(rows), String(columns), process.execPath, here('providers-harness.ts'), scenario],
      {
        stdio: ['pipe', 'pipe', 'inherit'],
        env: { PATH: process.env['PATH'], TERM: 'xterm-256color', LANG: 'en_US.UTF-8', RESULT: join(folder, 'result'), ...env },
      },
    )
    const terminal = new xterm.Terminal({ rows, cols: columns, allowProposedApi: true })
    return new Driver(child, terminal, folder)
  }

  /** The rows of the screen, from the first to the last that is not empty. */
  get screen(): string {
    const { buffer } = this.#terminal
    const { active } = buffer
    return Array.from({ length: active.length }, (_, row) => active.getLine(row)?.translateToString(true) ?? '')
      .join('\n').trimEnd()
  }

  /** Where the text cursor stands: the row's text up to it. */
  get beforeCursor(): string {
    const { active } = this.#terminal.buffer
    return active.getLine(active.baseY + active.cursorY)?.translateToString(false, 0, active.cursorX) ?? ''
  }

  /** Waits until the screen fits. The last screen is in the error when the program ends before. */
  async until(fits: (screen: string) => boolean, what: string): Promise<string> {
    while (!fits(this.screen)) {
      if (this.#ended) throw new Error(`ended before: ${what}\n${this.screen}`)
      await once(this.#changes, 'change')
    }
    return this.screen
  }

  /** Waits for a text on the screen. */
  shows(text: string): Promise<string> {
    return this.until(screen => screen.includes(text), text)
  }

  type(text: string): void {
    this.#send({ input: Buffer.from(text).toString('base64') })
  }

  resize(rows: number, columns: number): void {
    this.#terminal.resize(columns, rows)
    this.#send({ rows, columns })
  }

  /** Takes the terminal away. */
  hangUp(): void {
    this.#child.stdin.end()
  }

  /** What the harness reports at its end. */
  async result<T>(): Promise<T> {
    await this.#exit
    try {
      return JSON.parse(await readFile(join(this.#folder, 'result'), 'utf8')) as T
    } finally {
      this.#child.stdin.destroy()
      await rm(this.#folder, { recursive: true })
    }
  }

  #send(message: object): void {
    this.#child.stdin.write(`${JSON.stringify(message)}\n`)
  }
}

/** Keys as a terminal sends them. */
export const KEY = {
  up: '\x1b[A', down: '\x1b[B', right: '\x1b[C', left: '\x1b[D', home: '\x1b[H', end: '\x1b[F', delete: '\x1b[3~',
  enter: '\r', backspace: '\x7f', tab: '\t', ctrl: (letter: string) => String.fromCharCode(letter.charCodeAt(0) & 31),
  paste: (text: string) => `\x1b[200~${text}\x1b[201~`,
} as const
