export { coreVersion } from 'dsh-ag-ui/native'
