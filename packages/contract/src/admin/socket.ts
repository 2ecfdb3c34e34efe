/** The socket in the data folder through which the host's root administers the service. */
export const adminSocketName = 'admin.sock';
