/** The fields of /proc/cpuinfo that tell one processor from another. Steppings and revisions of one model run each other's states. */
const identityFields = ['vendor_id', 'cpu family', 'model', 'CPU implementer', 'CPU part'] as const;

/**
 * Flags that no guest sees, by the field of /proc/cpuinfo. They come and go with the kernel, its options and the firmware. On x86_64: what the kernel decided
 * for itself, performance counters, management of cache and power, virtualization and memory encryption.
 */
const hostOnlyFlags = {
  flags: wordsOf(
    'art constant_tsc cpuid cpuid_fault invpcid_single nonstop_tsc pti rep_good split_lock_detect tsc_known_freq tsc_reliable xtopology',
    'aperfmperf arch_lbr arch_perfmon bts ds_cpl dtes64 dts ibs intel_pt pdcm pebs perfctr_core perfctr_llc perfctr_nb perfmon_v2',
    'cat_l2 cat_l3 cdp_l2 cdp_l3 cqm cqm_llc cqm_mbm_local cqm_mbm_total cqm_occup_llc mba rdt_a',
    'cpb cppc dtherm epb est hfi hw_pstate hwp hwp_act_window hwp_epp hwp_notify hwp_pkg_req ida intel_ppin pln pts rapl tm tm2',
    'avic decodeassists ept ept_ad flexpriority flushbyasid lbrv npt nrip_save pausefilter pfthreshold skinit smx svm svm_lock tpr_shadow',
    'tsc_scale v_spec_ctrl v_vmsave_vmload vgif vmcb_clean vmx vnmi vpid x2avic',
    'sev sev_es sev_snp sme tme',
  ),
  Features: wordsOf('cpuid evtstrm'),
} as const;

/** How many missing flags a message names. */
const namedFlags = 4;

/**
 * Why a state that was saved with KVM on one processor cannot run on another, as part of a sentence; undefined if it can. Both are texts of readHostCpu.
 * A flag that is missing here may be an instruction that the guest uses. The kernel, the microcode and flags that are new here do not matter. Pure.
 */
export function whyOtherCpu(saved: string, ours: string): string | undefined {
  const [before, here] = [parseCpu(saved), parseCpu(ours)];
  if (identityFields.some((field) => textOf(before, field) !== textOf(here, field))) {
    const describe = nameOf(before) === nameOf(here) ? nameWithModel : nameOf;
    return `it was saved with the processor ${describe(before)}, and this host has ${describe(here)}`;
  }
  const present = flagsOf(here);
  const missing = [...flagsOf(before)].filter((flag) => !present.has(flag));
  if (missing.length === 0) return undefined;
  return `it was saved with features of the processor (${nameOf(here)}) that are missing here: ${listed(missing)}`;
}

/** The values of each field, of all the kinds of cores that the processor has. */
type Cpu = ReadonlyMap<string, readonly string[]>;

function parseCpu(text: string): Cpu {
  const lines = Array.from(text.matchAll(/^([^:\n]*[^:\s])\s*:(.*)$/gm), ([, field = '', value = '']) => ({
    field,
    value: value.trim(),
  }));
  const byField = Map.groupBy(lines, ({ field }) => field);
  return new Map(Array.from(byField, ([field, found]) => [field, found.map(({ value }) => value)]));
}

/** Sorted, because the order of the cores may differ from one boot to the next. */
function textOf(cpu: Cpu, field: string): string {
  return (cpu.get(field) ?? []).toSorted().join(' and ');
}

/** The flags that guests may see. */
function flagsOf(cpu: Cpu): ReadonlySet<string> {
  const visible = (field: keyof typeof hostOnlyFlags): string[] =>
    [...wordsOf(...(cpu.get(field) ?? []))].filter((flag) => !hostOnlyFlags[field].has(flag));
  return new Set([...visible('flags'), ...visible('Features')]);
}

/** What people call the processor. On arm64 the kernel knows only numbers. */
function nameOf(cpu: Cpu): string {
  const implementer = textOf(cpu, 'CPU implementer');
  if (implementer !== '') return `implementer ${implementer}, part ${textOf(cpu, 'CPU part')}`;
  const [name = 'unknown'] = cpu.get('model name') ?? [];
  return name;
}

function nameWithModel(cpu: Cpu): string {
  return `${nameOf(cpu)} (family ${textOf(cpu, 'cpu family')}, model ${textOf(cpu, 'model')})`;
}

function listed(flags: readonly string[]): string {
  const more = flags.length - namedFlags;
  return more > 0 ? `${flags.slice(0, namedFlags).join(', ')} and ${more} more` : flags.join(', ');
}

function wordsOf(...lines: readonly string[]): ReadonlySet<string> {
  return new Set(lines.flatMap((line) => line.split(/\s+/)).filter((word) => word !== ''));
}
