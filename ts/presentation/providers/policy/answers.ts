/**
 * Prepared answers against the fields of a question.
 *
 * @module
 */

import type { QuestionField } from '../../interaction.ts'
import type { Answer } from '../contract.ts'

/** The answers to these fields, or nothing when one is missing or does not fit. */
export function answersFor(
  fields: readonly QuestionField[],
  prepared: Readonly<Record<string, Answer>>,
): Readonly<Record<string, Answer>> | undefined {
  const answers: [string, Answer][] = []
  for (const field of fields) {
    const answer = Object.hasOwn(prepared, field.id) ? prepared[field.id] : undefined
    if (answer === undefined) {
      if (field.required === true) return undefined
    } else if (fits(field, answer)) {
      answers.push([field.id, answer])
    } else {
      return undefined
    }
  }
  return Object.freeze(Object.fromEntries(answers))
}

function fits(field: QuestionField, answer: Answer): boolean {
  switch (field.kind) {
    case 'text':
      return typeof answer === 'string'
        && answer.length >= (field.minLength ?? 0)
        && answer.length <= (field.maxLength ?? Infinity)
        && (field.multiline === true || !answer.includes('\n'))
    case 'confirm':
      return typeof answer === 'boolean'
    case 'select': {
      const known = (id: string): boolean => field.options.some(option => option.id === id)
      if (field.multiple !== true) return typeof answer === 'string' && known(answer)
      return Array.isArray(answer) && answer.every(known) && new Set(answer).size === answer.length
    }
  }
}
