export * from 'dsh-ag-ui/presentation'
