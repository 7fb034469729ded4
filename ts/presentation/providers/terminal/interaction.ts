/**
 * Questions, approvals and secrets as dialogues of the terminal.
 *
 * @module
 */

import type {
  ApprovalRequest,
  ApprovalValue,
  QuestionAnswers,
  QuestionField,
  QuestionRequest,
  SecretInputRequest,
  SecretInputValue,
  SelectQuestionField,
} from '../../interaction.ts'
import type { Answer } from '../contract.ts'
import { QUOTE } from './layout.ts'
import type { Line } from './layout.ts'
import type { Messages, Optionality } from './messages.ts'
import { ApprovalPrompt, ChoicePrompt, labelled, MultiplePrompt, NO_ANSWER, TextPrompt } from './prompts.ts'
import type { Answered, Choice } from './prompts.ts'
import { SecretPrompt } from './secret.ts'
import type { Dialogue } from './session.ts'
import { visibleLine, visibleLines } from './visible.ts'

/** Longest answer that is repeated on the screen, in characters. */
const MAX_ECHO = 200

export async function question(request: QuestionRequest, dialogue: Dialogue, messages: Messages): Promise<QuestionAnswers> {
  dialogue.print([
    { text: messages.asks(visibleLine(request.origin)), style: 'strong' },
    ...quoted(request.title),
    ...quoted(request.description),
  ])
  const answers: [string, Answer][] = []
  for (const field of request.fields) {
    const answer = await askField(field, dialogue, messages)
    dialogue.print([echo(field, answer, messages)])
    if (answer !== NO_ANSWER) answers.push([field.id, answer])
  }
  return Object.freeze({ answers: Object.freeze(Object.fromEntries(answers)) })
}

async function askField(field: QuestionField, dialogue: Dialogue, messages: Messages): Promise<Answered<Answer>> {
  const heading = fieldHeading(field)
  const optionality: Optionality = field.required === true ? 'required' : 'optional'
  switch (field.kind) {
    case 'text':
      return dialogue.ask(new TextPrompt({
        heading,
        mode: field.multiline === true ? 'multi-line' : 'single-line',
        optionality,
        messages,
        ...(field.minLength !== undefined && { minLength: field.minLength }),
        ...(field.maxLength !== undefined && { maxLength: field.maxLength }),
      }))
    case 'select':
      return field.multiple === true
        ? askMultiple(field, heading, optionality, dialogue, messages)
        : dialogue.ask(new ChoicePrompt<Answered<string>>({
            heading,
            choices: [...optionChoices(field), ...skipChoice(optionality, messages)],
            hint: messages.choiceHint,
          }))
    case 'confirm':
      return dialogue.ask(new ChoicePrompt<Answered<boolean>>({
        heading,
        choices: [
          { value: true, label: messages.yes, author: 'provider' },
          { value: false, label: messages.no, author: 'provider' },
          ...skipChoice(optionality, messages),
        ],
        hint: messages.confirmHint,
        shortcuts: [{ letter: 'y', choice: 0 }, { letter: 'n', choice: 1 }],
      }))
  }
}

/** Nothing marked is no answer. */
async function askMultiple(
  field: SelectQuestionField,
  heading: readonly Line[],
  optionality: Optionality,
  dialogue: Dialogue,
  messages: Messages,
): Promise<Answered<readonly string[]>> {
  const chosen = await dialogue.ask(new MultiplePrompt(heading, optionChoices(field), optionality, messages))
  return chosen.length === 0 ? NO_ANSWER : Object.freeze([...chosen])
}

function optionChoices(field: SelectQuestionField): Choice<string>[] {
  return field.options.map(({ id, label, description }) => ({
    value: id,
    label,
    author: 'consumer',
    ...(description !== undefined && { description }),
  }))
}

function skipChoice(optionality: Optionality, messages: Messages): Choice<typeof NO_ANSWER>[] {
  return optionality === 'optional' ? [{ value: NO_ANSWER, label: messages.skip, author: 'provider' }] : []
}

function fieldHeading(field: QuestionField): Line[] {
  return [{ text: visibleLine(field.label), prefix: QUOTE, style: 'strong' }, ...quoted(field.description)]
}

/** The answer, as it stays on the screen. */
function echo(field: QuestionField, answer: Answered<Answer>, messages: Messages): Line {
  const label = (id: string): string =>
    (field.kind === 'select' ? field.options.find(option => option.id === id)?.label : undefined) ?? id
  const words = answer === NO_ANSWER
    ? messages.skipped
    : typeof answer === 'boolean'
      ? (answer ? messages.yes : messages.no)
      : typeof answer === 'string' ? label(answer) : answer.map(label).join(', ')
  const short = words.length > MAX_ECHO ? `${words.slice(0, MAX_ECHO)}…` : words
  return { text: `${visibleLine(field.label)}: ${visibleLine(short)}`, prefix: QUOTE, style: 'faint' }
}

export async function approval(request: ApprovalRequest, dialogue: Dialogue, messages: Messages): Promise<ApprovalValue> {
  const { origin, action, summary, details = [], risk } = request
  const isPrivate = ({ sensitivity }: { readonly sensitivity?: string }): boolean => sensitivity === 'private'
  const header: Line = { text: messages.asksApproval(visibleLine(origin)), style: 'strong' }
  const extent = dialogue.print([
    header,
    ...labelled(messages.action, action),
    ...labelled(messages.summary, summary),
    ...details.filter(detail => !isPrivate(detail)).flatMap(({ label, value }) => labelled(visibleLine(label), value)),
    { text: `${messages.risk}: ${messages.risks[risk ?? 'unknown']}`, style: risk === 'high' ? 'warning' : 'strong' },
  ])
  // A text of any length must not push who asks for what out of sight.
  const reminder = extent === 'fits' ? [] : [header, ...labelled(messages.action, action).slice(0, 1)]
  const decision = await dialogue.ask(new ApprovalPrompt(reminder, details.filter(isPrivate), messages))
  dialogue.print([{ text: decision === 'approved' ? messages.approved : messages.denied, style: 'strong' }])
  return Object.freeze({ decision })
}

export async function secretInput(request: SecretInputRequest, dialogue: Dialogue, messages: Messages): Promise<SecretInputValue> {
  const { origin, label, description, minLength, maxLength } = request
  dialogue.print([{ text: messages.asksSecret(visibleLine(origin)), style: 'strong' }])
  const heading: Line[] = [{ text: visibleLine(label), prefix: QUOTE, style: 'strong' }, ...quoted(description)]
  const limits = { ...(minLength !== undefined && { minLength }), ...(maxLength !== undefined && { maxLength }) }
  const secret = await dialogue.askSecret(new SecretPrompt(heading, limits, messages))
  dialogue.print([{ text: `${visibleLine(label)}: ${messages.secretTaken}`, prefix: QUOTE, style: 'faint' }])
  return Object.freeze({ secret })
}

function quoted(text: string | undefined): Line[] {
  return text === undefined ? [] : visibleLines(text).map(line => ({ text: line, prefix: QUOTE }))
}
