// @ts-check
/**
 * Tool calls as cards: DSH's render intents (`dsh:tool:view`), drawn without knowing the Tool.
 *
 * @module
 */

/** @typedef {import('./thread.js').ToolCall} ToolCall */
/** @typedef {import('./thread.js').Cards} Cards */

/**
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} tag
 * @param {Record<string, string>} [attributes]
 * @param {...(Node | string)} children
 * @returns {HTMLElementTagNameMap[K]}
 */
export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag)
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value)
  made.append(...children)
  return made
}

/**
 * Draws one call.
 *
 * @param {ToolCall} call
 * @param {Cards | undefined} cards
 * @param {string | undefined} result What the Tool answered; absent while it runs.
 * @param {'backend' | 'browser'} owner
 */
export function toolCard(call, cards, result, owner) {
  const outcome = result === undefined ? 'running' : result.startsWith('Error:') ? 'failed' : 'done'
  const title = cards?.result?.title ?? cards?.call?.title ?? call.function.name
  const kind = cards?.result?.card ?? cards?.call?.card ?? (owner === 'browser' ? 'browser' : 'generic')
  return element('article', { 'class': 'card', 'data-tool': call.function.name, 'data-outcome': outcome, 'data-card': kind },
    element('header', {},
      element('span', { class: 'tag' }, owner === 'browser' ? 'browser tool' : kind),
      element('strong', {}, title),
      element('span', { class: 'outcome' }, outcome)),
    ...outcome === 'done' ? resultBody(cards?.result, result ?? '') : outcome === 'failed' ? [block(result ?? '', 'Failure')] : callBody(cards?.call),
    element('details', {},
      element('summary', {}, 'Arguments and result'),
      block(`${call.function.name}(${call.function.arguments})`, 'Arguments'),
      ...result === undefined ? [] : [block(result, 'Result')]))
}

/** @param {any} card A ToolCallView. */
function callBody(card) {
  switch (card?.card) {
    case 'diff':
      return card.diffs.map(diff)
    case 'terminal':
      return card.description === undefined ? [] : [element('p', {}, card.description)]
    default:
      return contents(card?.content)
  }
}

/**
 * @param {any} card A ToolResultView.
 * @param {string} raw The result as the model sees it.
 */
function resultBody(card, raw) {
  switch (card?.card) {
    case 'search':
      return [
        card.shape === 'paths'
          ? element('ul', {}, ...card.paths.map((/** @type {string} */ path) => element('li', {}, element('code', {}, path))))
          : element('div', {}, ...card.files.map(matches)),
        element('p', { class: 'quiet' }, `${card.total} ${card.shape === 'paths' ? 'paths' : 'matches'}${card.truncated ? ', not all shown' : ''}`),
      ]
    case 'read':
      return [
        element('p', { class: 'quiet' }, `${card.path}, ${card.totalLines} lines`),
        block(card.lines.map((/** @type {any} */ line) => `${String(line.number).padStart(4)}  ${line.text}`).join('\n'), card.path),
      ]
    case 'terminal':
      return [block(card.output ?? '', 'Output'), element('p', { class: 'quiet' }, card.signal ?? `exit code ${card.exitCode ?? 0}`)]
    case 'diff':
      return card.diffs.map(diff)
    case 'web':
      return card.kind === 'fetch'
        ? [element('p', {}, `${card.url} (${card.statusCode})`)]
        : [element('ul', {}, ...card.sources.map((/** @type {any} */ source) => element('li', {}, `${source.title ?? source.url}`)))]
    case 'generic':
      return card.content === undefined ? [block(raw, 'Result')] : contents(card.content)
    default:
      // No card, or one of a later vocabulary: the raw result is always there.
      return [block(raw, 'Result')]
  }
}

/** @param {any} file */
function matches(file) {
  return element('div', {},
    element('p', {}, element('code', {}, file.path)),
    block(file.matches.map((/** @type {any} */ match) => `${String(match.lineNumber).padStart(4)}  ${match.line}`).join('\n'), file.path))
}

/** @param {any} change */
function diff(change) {
  const marked = (/** @type {string} */ text, /** @type {string} */ mark) => text.split('\n').map(line => `${mark} ${line}`).join('\n')
  return element('div', {},
    element('p', {}, element('code', {}, change.path)),
    block([...change.oldText === null ? [] : [marked(change.oldText, '-')], marked(change.newText, '+')].join('\n'), change.path))
}

/** @param {any[] | undefined} content DSH content blocks. */
function contents(content) {
  return (content ?? []).map(part => element('p', {}, part.type === 'text' ? part.text : `[${part.type}]`))
}

/**
 * Text in a box that scrolls, which the keyboard must be able to reach.
 *
 * @param {string | Text} text
 * @param {string} label
 */
export function block(text, label) {
  return element('pre', { 'tabindex': '0', 'role': 'group', 'aria-label': label }, text)
}
