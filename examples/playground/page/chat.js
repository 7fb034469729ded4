// @ts-check
/**
 * The conversation on the page. Elements are kept by message id and only what changed is touched, so that a reply
 * of any number of deltas costs one text update a frame.
 *
 * @module
 */

import { element, toolCard } from './cards.js'

/** @typedef {import('./thread.js').Thread} Thread */
/** @typedef {import('./thread.js').Message} Message */

/** @type {Readonly<Record<string, string>>} */
const SPEAKERS = { user: 'You', assistant: 'Agent', reasoning: 'Reasoning', activity: 'Activity' }

export class Chat {
  #log
  #browserTools
  /** Whether to keep the end in view: until the reader scrolls up, and again once back at the end. */
  #following = true
  /** @type {Map<string, { node: HTMLElement, text: Text, calls: HTMLElement, drawn: string }>} */
  #rows = new Map()
  #hint = element('p', { class: 'quiet empty' }, 'Nothing has been said in this thread. Try “hello”, or pick a directive below.')

  /**
   * @param {HTMLElement} log
   * @param {ReadonlySet<string>} browserTools Names of the Tools that this page runs.
   */
  constructor(log, browserTools) {
    this.#log = log
    this.#browserTools = browserTools
    let top = 0
    log.addEventListener('scroll', () => {
      // The log may also have become lower while its end was in view; only moving up is the reader's doing.
      const atEnd = log.scrollHeight - log.scrollTop - log.clientHeight < 48
      if (atEnd || log.scrollTop < top) this.#following = atEnd
      top = log.scrollTop
    })
  }

  /** @param {Thread} thread */
  draw(thread) {
    const log = this.#log
    const results = new Map(thread.messages.flatMap(message =>
      message.role === 'tool' && message.toolCallId !== undefined ? [[message.toolCallId, textOf(message)]] : []))
    const shown = thread.messages.filter(message => message.role in SPEAKERS)
    const ids = new Set(shown.map(message => message.id))
    for (const [id, row] of this.#rows) {
      if (ids.has(id)) continue
      row.node.remove()
      this.#rows.delete(id)
    }
    /** @type {Element | null} */
    let next = log.firstElementChild
    for (const message of shown) {
      const row = this.#row(message)
      if (row.node === next) next = next.nextElementSibling
      else log.insertBefore(row.node, next)
      writeText(row.text, textOf(message))
      this.#drawCalls(row, message, thread, results)
    }
    if (shown.length === 0) log.replaceChildren(this.#hint)
    else this.#hint.remove()
    if (this.#following) log.scrollTop = log.scrollHeight
  }

  /** @param {Message} message */
  #row(message) {
    const known = this.#rows.get(message.id)
    if (known !== undefined) return known
    const text = document.createTextNode('')
    const calls = element('div', { class: 'calls' })
    const node = element('article', { 'class': 'message', 'data-role': message.role, 'data-id': message.id },
      element('h3', {}, SPEAKERS[message.role] ?? message.role),
      element('div', { class: 'text' }, text),
      calls)
    const row = { node, text, calls, drawn: '' }
    this.#rows.set(message.id, row)
    return row
  }

  /**
   * @param {{ calls: HTMLElement, drawn: string }} row
   * @param {Message} message
   * @param {Thread} thread
   * @param {ReadonlyMap<string, string>} results
   */
  #drawCalls(row, message, thread, results) {
    const calls = message.toolCalls ?? []
    const wanted = JSON.stringify(calls.map(call => [call, thread.cards.get(call.id), results.get(call.id)]))
    if (wanted === row.drawn) return
    row.drawn = wanted
    row.calls.replaceChildren(...calls.map(call => toolCard(call, thread.cards.get(call.id), results.get(call.id),
      this.#browserTools.has(call.function.name) ? 'browser' : 'backend')))
  }
}

/** @param {Message} message */
function textOf({ content }) {
  if (content === undefined || content === null) return ''
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return JSON.stringify(content, null, 2)
  return content.map(part => part.type === 'text' ? part.text : `[${part.type}]`).join('\n')
}

/**
 * @param {Text} node
 * @param {string} text
 */
function writeText(node, text) {
  if (node.data === text) return
  if (text.startsWith(node.data)) node.appendData(text.slice(node.length))
  else node.data = text
}
