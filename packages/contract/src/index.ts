export { type SizeName, type SizeResources, sizeNames, sizes } from './sizes.ts';
