/**
 * How a consumer's text is put on the screen (P10). The text is data: whatever could move the cursor, change colours,
 * hide or reorder other text is shown as an escape, such as `\u{1b}` for U+001B. Shown are so: C0 and C1 controls,
 * DEL, line and paragraph separators, bidirectional marks, embeddings, overrides and isolates, interlinear and tag
 * characters, and unpaired surrogates.
 *
 * @module
 */

const DECEPTIVE = /[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}\p{Cs}]/gu

/** One line: titles, labels, identifiers. Line breaks and tabs are escaped, too. */
export function visibleLine(text: string): string {
  return text.replace(DECEPTIVE, escape)
}

/** A paragraph: descriptions, summaries, values. Split at LF and CR LF; tabs become spaces. */
export function visibleLines(text: string): string[] {
  return text.split(/\r?\n/).map(line => visibleLine(line.replaceAll('\t', '    ')))
}

function escape(character: string): string {
  return `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`
}
