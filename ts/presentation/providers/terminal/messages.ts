/**
 * The provider's own words.
 *
 * @module
 */

export interface Messages {
  readonly asks: (origin: string) => string
  readonly asksApproval: (origin: string) => string
  readonly asksSecret: (origin: string) => string
  readonly opened: (origin: string) => string
  readonly copied: (origin: string, characters: number) => string
  readonly notifies: (origin: string, level: 'info' | 'warning' | 'error') => string
  readonly action: string
  readonly summary: string
  readonly risk: string
  readonly risks: Readonly<Record<'low' | 'medium' | 'high' | 'unknown', string>>
  readonly privateDetails: (count: number) => string
  readonly approve: string
  readonly deny: string
  readonly approved: string
  readonly denied: string
  readonly yes: string
  readonly no: string
  readonly skip: string
  readonly skipped: string
  readonly cancelled: string
  readonly expired: string
  readonly secretTaken: string
  readonly choiceHint: string
  readonly multipleHint: string
  readonly confirmHint: string
  readonly approvalHint: string
  readonly textHint: (optional: Optionality) => string
  readonly multilineHint: (optional: Optionality) => string
  readonly secretHint: string
  readonly required: string
  readonly tooShort: (least: number) => string
  readonly tooLong: (most: number) => string
  readonly notText: string
}

/** Whether a field may stay without an answer. */
export type Optionality = 'required' | 'optional'

export const ENGLISH: Messages = {
  asks: origin => `Question from ${origin}`,
  asksApproval: origin => `Approval requested by ${origin}`,
  asksSecret: origin => `Secret requested by ${origin}`,
  opened: origin => `Opened in your browser for ${origin}`,
  copied: (origin, characters) => `Copied to your clipboard for ${origin}: ${characters} characters`,
  notifies: (origin, level) => ({ info: `Note from ${origin}`, warning: `Warning from ${origin}`, error: `Error from ${origin}` })[level],
  action: 'Action',
  summary: 'Summary',
  risk: 'Risk',
  risks: { low: 'low', medium: 'medium', high: 'HIGH', unknown: 'not stated' },
  privateDetails: count => `${count} private ${count === 1 ? 'detail' : 'details'} hidden; v shows or hides`,
  approve: 'Approve',
  deny: 'Deny',
  approved: 'Approved',
  denied: 'Denied',
  yes: 'Yes',
  no: 'No',
  skip: '(no answer)',
  skipped: 'no answer',
  cancelled: 'Cancelled',
  expired: 'Expired',
  secretTaken: 'received',
  choiceHint: 'Arrows move, Enter chooses, Ctrl-C cancels',
  multipleHint: 'Arrows move, Space marks, Enter submits, Ctrl-C cancels',
  confirmHint: 'y or n answers, Ctrl-C cancels',
  approvalHint: 'Arrows move, Enter decides, Ctrl-C cancels',
  textHint: optional => `Enter submits${optional === 'optional' ? ', empty for no answer' : ''}, Ctrl-C cancels`,
  multilineHint: optional => `Enter breaks the line, Ctrl-D submits${optional === 'optional' ? ', empty for no answer' : ''}, Ctrl-C cancels`,
  secretHint: 'What you type is not shown. Enter submits, Ctrl-U starts over, Ctrl-C cancels',
  required: 'An answer is required',
  tooShort: least => `At least ${least} characters`,
  tooLong: most => `At most ${most} characters`,
  notText: 'That was not valid text. Please type it again',
}

export const CHINESE: Messages = {
  asks: origin => `来自 ${origin} 的问题`,
  asksApproval: origin => `${origin} 请求批准`,
  asksSecret: origin => `${origin} 请求输入秘密`,
  opened: origin => `已为 ${origin} 在浏览器中打开`,
  copied: (origin, characters) => `已为 ${origin} 复制到剪贴板：${characters} 个字符`,
  notifies: (origin, level) => ({ info: `来自 ${origin} 的通知`, warning: `来自 ${origin} 的警告`, error: `来自 ${origin} 的错误` })[level],
  action: '操作',
  summary: '摘要',
  risk: '风险',
  risks: { low: '低', medium: '中', high: '高', unknown: '未说明' },
  privateDetails: count => `已隐藏 ${count} 项私密详情；按 v 显示或隐藏`,
  approve: '批准',
  deny: '拒绝',
  approved: '已批准',
  denied: '已拒绝',
  yes: '是',
  no: '否',
  skip: '（不回答）',
  skipped: '未回答',
  cancelled: '已取消',
  expired: '已过期',
  secretTaken: '已收到',
  choiceHint: '方向键移动，回车选择，Ctrl-C 取消',
  multipleHint: '方向键移动，空格标记，回车提交，Ctrl-C 取消',
  confirmHint: '按 y 或 n 回答，Ctrl-C 取消',
  approvalHint: '方向键移动，回车决定，Ctrl-C 取消',
  textHint: optional => `回车提交${optional === 'optional' ? '，留空表示不回答' : ''}，Ctrl-C 取消`,
  multilineHint: optional => `回车换行，Ctrl-D 提交${optional === 'optional' ? '，留空表示不回答' : ''}，Ctrl-C 取消`,
  secretHint: '输入内容不会显示。回车提交，Ctrl-U 重新输入，Ctrl-C 取消',
  required: '此项必须回答',
  tooShort: least => `至少 ${least} 个字符`,
  tooLong: most => `至多 ${most} 个字符`,
  notText: '输入不是有效文本，请重新输入',
}

/** The language of the user's environment: `LC_ALL`, `LC_MESSAGES` or `LANG`. */
export function messagesFor(env: NodeJS.ProcessEnv): Messages {
  const locale = env['LC_ALL'] || env['LC_MESSAGES'] || env['LANG'] || ''
  return /^zh/i.test(locale) ? CHINESE : ENGLISH
}
