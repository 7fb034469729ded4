/**
 * Characters that deceive, made visible (spec: presentation, Security considerations; P10).
 *
 * @module
 */

import { revealPresentationText } from 'dsh-ag-ui/native'

/**
 * `text` with every control, escape and bidirectional override character as a visible escape such as `\u{1b}`, for
 * providers that show texts which no Host has treated. Line breaks and tabs stay in a `block`.
 */
export function revealText(text: string, shownAs: 'line' | 'block'): string {
  return revealPresentationText(text, shownAs)
}
