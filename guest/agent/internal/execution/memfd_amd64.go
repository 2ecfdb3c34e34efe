package execution

const sysMemfdCreate = 319
