/**
 * How a consumer's text is put on the screen (P10). The text is data: whatever could move the cursor, change colours,
 * hide or reorder other text is shown as an escape, by the rule that Hosts apply.
 *
 * @module
 */

import { revealText } from '../../text.ts'

/** One line: titles, labels, identifiers. Line breaks and tabs are escaped, too. */
export function visibleLine(text: string): string {
  return revealText(text, 'line')
}

/** A paragraph: descriptions, summaries, values. Split at LF and CR LF; tabs become spaces. */
export function visibleLines(text: string): string[] {
  return revealText(text, 'block').replaceAll('\t', '    ').split(/\r?\n/)
}
