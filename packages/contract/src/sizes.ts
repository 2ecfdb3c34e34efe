/** The sandbox sizes, smallest first. */
export const sizeNames = ['small', 'medium', 'large'] as const;

export type SizeName = (typeof sizeNames)[number];

/** The resources that commands in a sandbox of this size see. */
export interface SizeResources {
  readonly vcpu: number;
  readonly memoryGb: number;
  readonly diskGb: number;
}

export const sizes: Readonly<Record<SizeName, SizeResources>> = {
  small: { vcpu: 2, memoryGb: 4, diskGb: 40 },
  medium: { vcpu: 4, memoryGb: 8, diskGb: 80 },
  large: { vcpu: 8, memoryGb: 16, diskGb: 160 },
};
