"""Options that GCC has and clang refuses, and that say nothing about what a program computes.

They choose passes of GCC's optimiser, how registers and the stack are used, or what GCC tells and writes besides. What
changes a result, the language or a calling convention is not among them: clang takes such an option or refuses it.
"""

from __future__ import annotations

import re

_PASSES = (
    "abi-compat-version abi-version aggressive-loop-optimizations allocation-dce allow-store-data-races "
    "argument-noalias.* auto-inc-dec bit-tests branch-probabilities branch-target-load-optimize2? btr-bb-exclusive "
    "code-hoisting combine-stack-adjustments compare-elim conserve-stack cprop-registers crossjumping cse-.* dce "
    "declone-ctor-dtor delayed-branch delete-dead-exceptions devirtualize-at-ltrans dse early-inlining "
    "fold-simple-inlines forward-propagate function-cse gcse-.* gnu-unique graphite.* guess-branch-probability "
    "harden-.* hoist-adjacent-loads if-conversion2? indirect-inlining inline-atomics inline-limit-.* ipa-.* ira-.* "
    "isolate-erroneous-paths-.* keep-gc-roots-live keep-static-functions lifetime-dse limit-function-alignment "
    "live-patching live-range-shrinkage loop-(?!interchange).* lra-.* lto-.* modulo-sched.* move-loop-.* nothrow-opt "
    "optimize-(?!sibling).* partial-inlining peephole2? predictive-commoning printf-return-value "
    "profile-reorder-functions ree regmove reorder-.* rerun-.* reschedule-.* sched.* "
    "section-anchors sel-sched-.* selective-scheduling2? shrink-wrap.* simd-cost-model split-(?!stack).* ssa-.* "
    "stack-check stack-limit.* stack-protector-explicit stack-reuse stdarg-opt store-merging "
    "strict-volatile-bitfields thread-jumps toplevel-reorder tracer trampolines tree-(?!(?:slp-)?vectorize$).* "
    "unconstrained-commons unroll-completely-grow-size unswitch-loops variable-expansion-in-unroller vect-cost-model "
    "version-loops-for-strides vpt web zee"
).split()
_TOLD = (
    "analyzer.* callgraph-info.* canonical-system-headers checking compare-debug.* concepts-diagnostics-depth "
    "dbg-cnt.* debug-cpp diagnostics-(?!color).* dump-.* large-source-files max-include-depth mem-report.* "
    "merge-debug-strings opt-info.* post-ipa-mem-report pre-ipa-mem-report "
    "profile-(?:report|use|dir|note|update|abs-path|reproducible|partial.*|prefix.*) random-seed report-bug stats "
    "tabstop time-report-details track-macro-expansion var-tracking.* working-directory"
).split()
_MACHINE = (
    "128bit-long-double 8bit-idiv accumulate-outgoing-args align-data align-functions align-jumps align-loops "
    "align-stringops avx256-split-unaligned-.* branch-cost cet-switch cld dispatch-scheduler function-return "
    "harden-sls incoming-stack-boundary indirect-branch.* inline-.* memcpy-strategy memset-strategy "
    "move-max prefer-avx128 preferred-stack-boundary push-args record-.* store-max stringop-strategy stv tls-dialect "
    "tune-ctrl veclibabi"
).split()
_EXCESS = "-fexcess-precision=(?:standard|fast)"  # no processor of 64 bits has any
ONLY_GCC = re.compile(
    rf"-f(?:no-)?(?:{'|'.join(_PASSES + _TOLD)})(?:=.*)?|-m(?:no-)?(?:{'|'.join(_MACHINE)})(?:=.*)?|"
    rf"-g(?:no-)?(?:stabs|coff|xcoff|vms)[+0-9]*|-g(?:no-)?(?:describe-dies|gnu-pubnames|inline-points|statement-frontiers|"
    rf"variable-location-views|internal-reset-location-views|as-loc-support|as-locview-support|toggle|ctf|btf)(?:=.*)?|"
    rf"{_EXCESS}"
)
