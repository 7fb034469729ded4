import { conformance } from './conformance.ts'

conformance('C')
