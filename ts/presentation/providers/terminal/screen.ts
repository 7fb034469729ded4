/**
 * The part of the terminal that a prompt redraws, below everything that has been printed.
 *
 * @module
 */

import { paint, width, wrap } from './layout.ts'
import type { Line, Painted } from './layout.ts'

/** What a screen needs of `tty.WriteStream`. */
export interface Output {
  readonly isTTY?: boolean
  readonly columns?: number
  readonly rows?: number
  write(text: string): boolean
}

/** What a prompt shows. */
export interface View {
  readonly lines: readonly Line[]
  /** Index of the line that has to be visible when not all fit. */
  readonly focus: number
  /** Where the text cursor stands, as an index into the focused line's text. Hidden without one. */
  readonly cursor?: number
}

/** Rows that a short prompt takes. */
const ROOM_FOR_A_PROMPT = 6

/** A redrawn region. At any time the terminal's cursor is inside it. */
export class Screen {
  readonly #output: Output
  #view: View | undefined
  /** Widths of the rows above the cursor's, as drawn. */
  #above: number[] = []

  constructor(output: Output) {
    this.#output = output
  }

  get #columns(): number {
    // The last column stays empty: terminals differ in when they wrap.
    return Math.max((this.#output.columns ?? 80) - 1, 10)
  }

  get #height(): number {
    return Math.max((this.#output.rows ?? 24) - 1, 1)
  }

  draw(view: View): void {
    this.#view = view
    const { rows, cursorRow, cursorColumn } = this.#layout(view)
    const back = rows.length - 1 - cursorRow
    this.#output.write([
      this.#home(),
      '\x1b[J',
      rows.map(({ output }) => output).join('\r\n'),
      back > 0 ? `\x1b[${back}A` : '',
      '\r',
      cursorColumn > 0 ? `\x1b[${cursorColumn}C` : '',
      view.cursor === undefined ? '\x1b[?25l' : '\x1b[?25h',
    ].join(''))
    this.#above = rows.slice(0, cursorRow).map(row => row.width)
  }

  /** Prints above the region, for good. */
  print(lines: readonly Line[]): 'fits' | 'scrolls' {
    const view = this.#view
    this.clear()
    const rows = lines.flatMap(line => paint(line, this.#columns))
    this.#output.write(rows.map(({ output }) => `${output}\r\n`).join(''))
    if (view !== undefined) this.draw(view)
    return rows.length + ROOM_FOR_A_PROMPT <= this.#height ? 'fits' : 'scrolls'
  }

  /** Draws again, for a terminal of another size. */
  resize(): void {
    if (this.#view !== undefined) this.draw(this.#view)
  }

  /** Erases the region. */
  clear(): void {
    if (this.#view === undefined) return
    this.#output.write(`${this.#home()}\x1b[J\x1b[?25h`)
    this.#view = undefined
    this.#above = []
  }

  /**
   * Goes to the region's start. Rows that the terminal has rewrapped since take more than one. The cursor's own row
   * counts once, since not every terminal rewraps it: better to leave a row behind than to erase one that is not ours.
   */
  #home(): string {
    const columns = this.#output.columns ?? 80
    const up = this.#above.reduce((sum, drawn) => sum + Math.max(Math.ceil(drawn / columns), 1), 0)
    return up > 0 ? `\x1b[${up}A\r` : '\r'
  }

  /** The rows that fit, around the focused line. */
  #layout(view: View): { rows: Painted[], cursorRow: number, cursorColumn: number } {
    const columns = this.#columns
    const painted = view.lines.map(line => paint(line, columns))
    const before = painted.slice(0, view.focus).reduce((sum, rows) => sum + rows.length, 0)
    const { row, column } = caret(view, columns)
    const all = painted.flat()
    const height = this.#height
    const target = before + row
    const first = Math.max(0, Math.min(target - Math.floor(height / 2), all.length - height))
    return { rows: all.slice(first, first + height), cursorRow: target - first, cursorColumn: column }
  }
}

/** Row and column of the cursor within the focused line. */
function caret(view: View, columns: number): { row: number, column: number } {
  const line = view.lines[view.focus]
  const { cursor } = view
  if (line === undefined || cursor === undefined) return { row: 0, column: 0 }
  const prefix = width(line.prefix ?? '')
  const rows = wrap(line.text, Math.max(columns - prefix, 1))
  const row = Math.max(rows.findLastIndex(({ start }) => start <= cursor), 0)
  const start = rows[row]?.start ?? 0
  return { row, column: prefix + width(line.text.slice(start, cursor)) }
}
