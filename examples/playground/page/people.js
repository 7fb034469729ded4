// @ts-check
/**
 * What the agent asks a person, as one form: all of it is answered together, because the turn goes on with all of it.
 *
 * @module
 */

import { element } from './cards.js'

/** @typedef {{ label: string, description?: string }} Option */
/** @typedef {{ id: string, question: string, detail?: string, header?: string, options?: Option[], multiSelect?: boolean }} Question */
/** @typedef {{ id: string, reason: string, message?: string, metadata?: { dsh?: { questions?: Question[] } } }} Interrupt */
/** @typedef {{ interruptId: string, status: 'resolved' | 'cancelled', payload?: unknown }} ResumeEntry */

export class PeopleForm {
  #root
  #answer
  /** Ids of what is shown. */
  #shown = ''

  /**
   * @param {HTMLElement} root
   * @param {(entries: ResumeEntry[]) => void} answer Gets an entry for everything that is asked.
   */
  constructor(root, answer) {
    this.#root = root
    this.#answer = answer
  }

  /** @param {Interrupt[]} interrupts */
  draw(interrupts) {
    const ids = interrupts.map(one => one.id).join()
    if (ids === this.#shown) return
    this.#shown = ids
    this.#root.hidden = interrupts.length === 0
    this.#root.replaceChildren(...interrupts.length === 0 ? [] : [this.#form(interrupts)])
  }

  /** @param {Interrupt[]} interrupts */
  #form(interrupts) {
    const withdraw = element('button', { type: 'button' }, 'Withdraw')
    withdraw.addEventListener('click', () => {
      this.#answer(interrupts.map(({ id }) => ({ interruptId: id, status: 'cancelled' })))
    })
    const form = element('form', {},
      ...interrupts.flatMap(one => questionsOf(one)?.map((question, at) => questionFields(`${one.id}-${at}`, question)) ?? [approvalFields(one)]),
      element('div', { class: 'row' }, withdraw, element('button', { type: 'submit', class: 'primary' }, 'Answer')))
    form.addEventListener('submit', (event) => {
      event.preventDefault()
      const given = new FormData(form)
      this.#answer(interrupts.map(one => ({ interruptId: one.id, status: 'resolved', payload: payloadOf(one, given) })))
    })
    return form
  }
}

/** @param {Interrupt} interrupt */
function questionsOf({ reason, metadata }) {
  return reason === 'user_question' ? metadata?.dsh?.questions : undefined
}

/** @param {Interrupt} interrupt */
function approvalFields({ id, message }) {
  return element('fieldset', {},
    element('legend', {}, message ?? 'The agent asks for an approval'),
    choice('radio', id, 'yes', { label: 'Allow once' }),
    choice('radio', id, 'no', { label: 'Do not allow' }))
}

/**
 * @param {string} name
 * @param {Question} question
 */
function questionFields(name, { question, header, detail, options = [], multiSelect }) {
  const hint = options.length === 0 ? 'Your answer' : multiSelect === true ? 'Something else' : 'Something else instead'
  return element('fieldset', {},
    element('legend', {}, header === undefined ? question : `${header}: ${question}`),
    ...detail === undefined ? [] : [element('pre', {}, detail)],
    ...options.map(option => choice(multiSelect === true ? 'checkbox' : 'radio', name, option.label, option)),
    element('label', {}, hint, element('input', { type: 'text', name: `${name}-custom`, autocomplete: 'off' })))
}

/**
 * @param {'radio' | 'checkbox'} type
 * @param {string} name
 * @param {string} value
 * @param {Option} option
 */
function choice(type, name, value, { label, description }) {
  return element('label', {}, element('input', { type, name, value }), ` ${label}`,
    ...description === undefined ? [] : [element('span', { class: 'quiet' }, ` ${description}`)])
}

/**
 * @param {Interrupt} interrupt
 * @param {FormData} given
 */
function payloadOf(interrupt, given) {
  const questions = questionsOf(interrupt)
  // Neither is chosen: the gateway says what is missing.
  if (questions === undefined) return given.has(interrupt.id) ? { approved: given.get(interrupt.id) === 'yes' } : {}
  return {
    answers: questions.map(({ id, multiSelect }, at) => {
      const name = `${interrupt.id}-${at}`
      const custom = String(given.get(`${name}-custom`) ?? '').trim()
      // Words stand instead of an option where only one may be chosen.
      const selected = custom !== '' && multiSelect !== true ? [] : given.getAll(name)
      return { id, selected, ...custom === '' ? {} : { custom } }
    }),
  }
}
