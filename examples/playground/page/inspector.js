// @ts-check
/**
 * The list of everything that came over the wire. Neighbouring deltas of one message share a row, so that a long
 * reply stays readable; only the newest rows are kept.
 *
 * @module
 */

import { block, element } from './cards.js'

/** @typedef {import('./events.js').AgUiEvent} AgUiEvent */

const MAX_ROWS = 400
const DELTAS = new Set(['TEXT_MESSAGE_CONTENT', 'TOOL_CALL_ARGS', 'REASONING_MESSAGE_CONTENT'])

export class Inspector {
  #list
  #counter
  #count = 0
  /** @type {{ type: string, owner: string, count: number, delta: string, label: HTMLElement, body: Text } | undefined} */
  #run
  /** @type {Node[]} */
  #waiting = []

  /**
   * @param {HTMLElement} list
   * @param {HTMLElement} counter
   */
  constructor(list, counter) {
    this.#list = list
    this.#counter = counter
  }

  /** @param {AgUiEvent} event */
  add(event) {
    this.#count += 1
    const owner = event['messageId'] ?? event['toolCallId'] ?? ''
    if (DELTAS.has(event.type) && this.#run?.type === event.type && this.#run.owner === owner) {
      this.#run.count += 1
      this.#run.delta += event['delta']
      return
    }
    this.#finishRun()
    const label = element('span', { class: 'type' }, event.type)
    const body = document.createTextNode(JSON.stringify(event, null, 2))
    this.#waiting.push(element('li', { 'data-type': event.type },
      element('details', {}, element('summary', {}, label, ' ', element('span', { class: 'quiet' }, gist(event))), block(body, event.type))))
    if (DELTAS.has(event.type)) this.#run = { type: event.type, owner, count: 1, delta: event['delta'], label, body }
  }

  /** Puts what came since the last frame on the page. */
  draw() {
    this.#writeRun()
    const following = this.#list.scrollHeight - this.#list.scrollTop - this.#list.clientHeight < 48
    this.#list.append(...this.#waiting.splice(0))
    while (this.#list.childElementCount > MAX_ROWS) this.#list.firstElementChild?.remove()
    this.#counter.textContent = String(this.#count)
    if (following) this.#list.scrollTop = this.#list.scrollHeight
  }

  clear() {
    this.#run = undefined
    this.#waiting = []
    this.#count = 0
    this.#list.replaceChildren()
    this.#counter.textContent = '0'
  }

  #finishRun() {
    this.#writeRun()
    this.#run = undefined
  }

  #writeRun() {
    const run = this.#run
    if (run === undefined || run.count < 2) return
    run.label.textContent = `${run.type} × ${run.count}`
    run.body.data = `${run.count} deltas, ${run.delta.length} characters\n${run.delta}`
  }
}

/**
 * The most telling field of an event.
 *
 * @param {AgUiEvent} event
 */
function gist(event) {
  const { name, toolCallName, code, message, delta, outcome, value } = event
  if (event.type === 'CUSTOM') return `${name}${value?.phase === undefined ? '' : ` ${value.phase}`}`
  return toolCallName ?? code ?? message ?? delta ?? outcome?.type ?? ''
}
