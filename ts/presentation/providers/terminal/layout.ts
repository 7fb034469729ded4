/**
 * Lines and rows: how text of any script fits into columns.
 *
 * @module
 */

import stringWidth from 'string-width'

/** Weight of a line on the screen. */
export type Style = 'plain' | 'strong' | 'faint' | 'chosen' | 'warning'

/** A logical line; it takes as many rows as it needs. */
export interface Line {
  readonly text: string
  readonly style?: Style
  /** Repeated on every row. Marks whose words these are: {@link QUOTE} for a consumer's. */
  readonly prefix?: string
}

/**
 * Stands before every row of a consumer's text. The provider's own words never begin with it, so that no text can pose
 * as them.
 */
export const QUOTE = '│ '

/** One row of a line. */
export interface Row {
  /** Where in the line's text the row begins. */
  readonly start: number
  readonly text: string
}

const graphemes = new Intl.Segmenter(undefined, { granularity: 'grapheme' })

/** Columns that a text takes. */
export function width(text: string): number {
  return stringWidth(text)
}

/** Splits into grapheme clusters, which are never torn apart. */
export function clusters(text: string): string[] {
  return Array.from(graphemes.segment(text), ({ segment }) => segment)
}

/** Breaks a text into rows of at most `columns` columns. An empty text is one empty row. */
export function wrap(text: string, columns: number): Row[] {
  const rows: Row[] = []
  let start = 0
  let end = 0
  let used = 0
  for (const cluster of clusters(text)) {
    const needed = width(cluster)
    if (used + needed > columns && end > start) {
      rows.push({ start, text: text.slice(start, end) })
      start = end
      used = 0
    }
    end += cluster.length
    used += needed
  }
  rows.push({ start, text: text.slice(start, end) })
  return rows
}

/** A row as it goes to the terminal, and the columns that it takes. */
export interface Painted {
  readonly output: string
  readonly width: number
}

const SEQUENCES: Record<Style, string> = {
  plain: '',
  strong: '\x1b[1m',
  faint: '\x1b[2m',
  chosen: '\x1b[7m',
  warning: '\x1b[1;31m',
}

/** The rows of a line, styled. */
export function paint(line: Line, columns: number): Painted[] {
  const { prefix = '', style = 'plain' } = line
  const sequence = SEQUENCES[style]
  return wrap(line.text, Math.max(columns - width(prefix), 1)).map(({ text }) => ({
    output: sequence === '' ? prefix + text : `${prefix}${sequence}${text}\x1b[0m`,
    width: width(prefix) + width(text),
  }))
}
