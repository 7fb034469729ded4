/**
 * The directives that a user's text may carry for the scripted model, and their parser.
 *
 * | directive | effect |
 * | --- | --- |
 * | `[deltas=N]` | the text is N deltas of 8 characters each (N up to 9,999,999) |
 * | `[tool=NAME {json}]` | calls NAME with these arguments (`{}` when left out); several are parallel calls of one step |
 * | `[state {json}]` | calls the shared state Tool with `{"state_updates": json}` |
 * | `[reason]` | reasoning before the first step's output |
 * | `[fail]` / `[fail=call]` | fails after partial text / halfway through the first call's arguments |
 * | `[hang]` / `[hang=call]` | the same places, but waits there until the request is aborted |
 * | `[max-tokens]` | the answer stops at the token limit |
 * | `[slow=MS]` | a pause of MS milliseconds between deltas |
 * | `[yield]` | one turn of the event loop between deltas; without it the model never yields |
 *
 * What does not match this grammar is ordinary text. Arguments only need balanced braces, so that a model which
 * produces broken JSON can be imitated too.
 *
 * @module
 */

/** One call that the text asks for. */
export interface ToolDirective {
  readonly name: string
  /** Raw JSON text of the arguments, as written. */
  readonly arguments: string
}

/** How the answer ends when it does not simply stop. */
export type Ending =
  | { readonly kind: 'stop' }
  | { readonly kind: 'max-tokens' }
  /** Where to break off: in the answer's text, or inside the first call's arguments. */
  | { readonly kind: 'fail' | 'hang', readonly during: 'answer' | 'call' }

/** What lies between two deltas. */
export type Pace =
  | { readonly kind: 'none' }
  | { readonly kind: 'yield' }
  | { readonly kind: 'slow', readonly milliseconds: number }

/** Everything that one user text asks of the scripted model. */
export interface Directives {
  /** Number of text deltas; absent when the answer is an ordinary sentence. */
  readonly deltas?: number
  readonly tools: readonly ToolDirective[]
  /** Raw JSON text of the wanted state updates, in order. */
  readonly stateUpdates: readonly string[]
  readonly reasoning: 'none' | 'first'
  readonly ending: Ending
  readonly pace: Pace
  /** The text without its directives, whitespace collapsed. */
  readonly plain: string
}

const NUMBER = /\[(deltas|slow)=(\d{1,7})\]/y
const FLAG = /\[(reason|max-tokens|yield|(fail|hang)(=call)?)\]/y
const TOOL = /\[tool=([A-Za-z_][A-Za-z0-9_-]{0,63})\s*/y
const STATE = /\[state\s+/y

/**
 * Reads the directives of one user text.
 *
 * @param text - The text as the user wrote it.
 * @returns The directives; of two that exclude each other the later one holds.
 */
export function parseDirectives(text: string): Directives {
  const tools: ToolDirective[] = []
  const stateUpdates: string[] = []
  let deltas: number | undefined
  let reasoning: Directives['reasoning'] = 'none'
  let ending: Ending = { kind: 'stop' }
  let pace: Pace = { kind: 'none' }
  let plain = ''

  for (let at = 0; at < text.length;) {
    if (text[at] !== '[') {
      const next = text.indexOf('[', at)
      const end = next === -1 ? text.length : next
      plain += text.slice(at, end)
      at = end
      continue
    }
    const number = matchAt(NUMBER, text, at)
    if (number !== undefined) {
      if (number[1] === 'deltas') deltas = Number(number[2])
      else pace = { kind: 'slow', milliseconds: Number(number[2]) }
      at += number[0].length
      continue
    }
    const flag = matchAt(FLAG, text, at)
    if (flag !== undefined) {
      if (flag[1] === 'reason') reasoning = 'first'
      else if (flag[1] === 'yield') pace = { kind: 'yield' }
      else if (flag[1] === 'max-tokens') ending = { kind: 'max-tokens' }
      else ending = { kind: flag[2] === 'hang' ? 'hang' : 'fail', during: flag[3] === undefined ? 'answer' : 'call' }
      at += flag[0].length
      continue
    }
    const tool = matchAt(TOOL, text, at)
    if (tool !== undefined) {
      const payload = payloadAt(text, at + tool[0].length)
      if (payload !== undefined) {
        tools.push({ name: tool[1] ?? '', arguments: payload.json === '' ? '{}' : payload.json })
        at = payload.end
        continue
      }
    }
    const state = matchAt(STATE, text, at)
    if (state !== undefined) {
      const payload = payloadAt(text, at + state[0].length)
      if (payload !== undefined && payload.json !== '') {
        stateUpdates.push(payload.json)
        at = payload.end
        continue
      }
    }
    plain += '['
    at += 1
  }

  return {
    ...deltas === undefined ? {} : { deltas },
    tools, stateUpdates, reasoning, ending, pace,
    plain: plain.replaceAll(/\s+/g, ' ').trim(),
  }
}

function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray | undefined {
  pattern.lastIndex = at
  return pattern.exec(text) ?? undefined
}

/** A balanced `{...}` (or nothing) followed by the closing bracket of the directive. */
function payloadAt(text: string, from: number): { json: string, end: number } | undefined {
  let at = from
  if (text[at] === '{') {
    const end = balancedEnd(text, at)
    if (end === undefined) return undefined
    at = end
  }
  const json = text.slice(from, at)
  while (text[at] === ' ') at += 1
  return text[at] === ']' ? { json, end: at + 1 } : undefined
}

/** Index behind the brace that closes the one at `from`, brackets inside JSON strings not counted. */
function balancedEnd(text: string, from: number): number | undefined {
  let depth = 0
  let quoted = false
  for (let at = from; at < text.length; at += 1) {
    const character = text[at]
    if (quoted) {
      if (character === '\\') at += 1
      else if (character === '"') quoted = false
    } else if (character === '"') quoted = true
    else if (character === '{') depth += 1
    else if (character === '}') {
      depth -= 1
      if (depth === 0) return at + 1
    }
  }
  return undefined
}
