export * from 'dsh-ag-ui/presentation/providers/policy'
