/** Samples of all repetitions, and the table that sums them up. */
import type { Case, Metric } from '../cases/case.ts'
import type { Arm } from '../server/arms.ts'
import { median, quantile } from './stats.ts'

/** One arm of one case, measured once. */
export interface Sample {
  readonly case: string
  readonly arm: Arm
  readonly repetition: number
  readonly values: Readonly<Partial<Record<string, number>>>
}

/** One number over all repetitions. */
export interface Summary {
  readonly median: number
  /** The quartiles: half of the repetitions lie between them. */
  readonly low: number
  readonly high: number
}

/** One line of the table; absent where the arm was not measured. */
export interface Row {
  readonly case: string
  readonly metric: string
  readonly unit: string
  readonly share: Metric['share']
  readonly direct?: Summary
  readonly baseline?: Summary
  readonly ours?: Summary
  /** With the arm without a gateway subtracted, repetition by repetition. */
  readonly baselineOwn?: Summary
  readonly oursOwn?: Summary
  /** Ours over the baseline, of medians: of the own shares where the metric has them. */
  readonly ratio?: number
}

/** Sums up the samples of one case. */
export function summarise(subject: Case, samples: readonly Sample[]): Row[] {
  const mine = samples.filter(sample => sample.case === subject.name)
  return Object.entries(subject.metrics).map(([key, metric]) => summariseMetric(subject.name, key, metric, mine))
}

function summariseMetric(name: string, key: string, { label, unit, share }: Metric, samples: readonly Sample[]): Row {
  const direct = summary(valuesOf(samples, 'direct', key))
  const baseline = summary(valuesOf(samples, 'baseline', key))
  const ours = summary(valuesOf(samples, 'ours', key))
  const baselineOwn = share === 'own' ? summary(ownValues(samples, 'baseline', key)) : undefined
  const oursOwn = share === 'own' ? summary(ownValues(samples, 'ours', key)) : undefined
  const [dividend, divisor] = share === 'own' ? [oursOwn, baselineOwn] : [ours, baseline]
  return {
    case: name, metric: label, unit, share,
    ...direct && { direct }, ...baseline && { baseline }, ...ours && { ours },
    ...baselineOwn && { baselineOwn }, ...oursOwn && { oursOwn },
    ...dividend && divisor && divisor.median !== 0 && { ratio: dividend.median / divisor.median },
  }
}

function valuesOf(samples: readonly Sample[], arm: Arm, key: string): number[] {
  return samples.filter(sample => sample.arm === arm).flatMap(({ values }) => values[key] ?? [])
}

function ownValues(samples: readonly Sample[], arm: Arm, key: string): number[] {
  return samples.filter(sample => sample.arm === arm).flatMap(({ repetition, values }) => {
    const direct = samples.find(sample => sample.arm === 'direct' && sample.repetition === repetition)?.values[key]
    const value = values[key]
    return direct === undefined || value === undefined ? [] : value - direct
  })
}

function summary(values: readonly number[]): Summary | undefined {
  if (values.length === 0) return undefined
  return { median: median(values), low: quantile(values, 0.25), high: quantile(values, 0.75) }
}

const HEAD = ['', 'unit', 'direct', 'baseline', 'ours', 'own: baseline', 'own: ours', 'ours / baseline']

/** The table of one case, as text. What the ratio compares is shown with its quartiles. */
export function formatTable(title: string, rows: readonly Row[]): string {
  const cells = [HEAD, ...rows.map(row => [
    row.metric,
    row.unit,
    formatMedian(row.direct),
    ...[row.baseline, row.ours].map(row.share === 'whole' ? formatSummary : formatMedian),
    ...[row.baselineOwn, row.oursOwn].map(formatSummary),
    row.ratio === undefined ? '-' : `${row.ratio.toFixed(2)}x`,
  ])]
  const widths = HEAD.map((_, column) => Math.max(...cells.map(line => line[column]?.length ?? 0)))
  const lines = cells.map(line => line.map((cell, column) => {
    const width = widths[column] ?? 0
    return column < 2 ? cell.padEnd(width) : cell.padStart(width)
  }).join('  ').trimEnd())
  return [title, ...lines].join('\n')
}

function formatSummary(value: Summary | undefined): string {
  if (value === undefined) return '-'
  if (value.low === value.high) return formatMedian(value)
  return `${formatMedian(value)} (${formatNumber(value.low)}..${formatNumber(value.high)})`
}

function formatMedian(value: Summary | undefined): string {
  return value === undefined ? '-' : formatNumber(value.median)
}

function formatNumber(value: number): string {
  if (Number.isInteger(value)) return String(value)
  const size = Math.abs(value)
  return value.toFixed(size >= 100 ? 0 : size >= 10 ? 1 : 2)
}
