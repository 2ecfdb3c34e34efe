export const greeting = 'before the edit';
