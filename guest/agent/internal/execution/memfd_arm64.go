package execution

const sysMemfdCreate = 279
