# SPDX-License-Identifier: MIT
# The tests. A command is one line for sh; a program or a script prints TAP, so prove can run it too.

.PHONY: test test-all on-forks on-opencl on-qemu on-debian on-packages

# ---- The size of a run ----
# ALL=0: fewer cases and smaller networks of each kind of check. ALL=1, of `make test-all`: all of them. Other
# targets take ALL=1 too.
# Scripts see it as TEST_ALL (tests/support/lib.sh).
ALL = 0
test-all: ALL = 1
$(if $(filter 0 1,$(ALL)),,$(error ALL='$(ALL)' is neither 0 nor 1))
# $(call size,FEW,ALL)
size = $(if $(filter 1,$(ALL)),$(2),$(1))

# ---- Programs that are linked in their own way ----
# Row stock and GEMM_CHECK, with loops that can be made wrong.
WRONG = $(OBJ)/tests/support/wrong.o
WRONG_LIBS = -Wl,--wrap=gemm_stock_loops
WRONG_PROGRAMS = $(addprefix $(OUT)/tests/,gemm_bench_wrong wrong_check darknet_wrong)
$(WRONG_PROGRAMS): FILE_LIBS = $(WRONG_LIBS)
$(OUT)/tests/gemm_bench_wrong: $(OBJ)/bench/gemm-bench/gemm_bench.o $(WRONG) $(OUT)/modules.a $(OUT)/libdarknet.a
$(OUT)/tests/wrong_check: $(OBJ)/tests/support/wrong_check.o $(WRONG) $(OUT)/libdarknet.a
$(OUT)/tests/darknet_wrong: $(WRONG) $(OUT)/libdarknet.a
# With the objects of Darknet's own program.
$(OUT)/tests/darknet_wrong: FILE_OBJECTS = $(foreach name,$(DARKNET_PROGRAM),$(OUT)/darknet-obj/$(name).o)
DARKNET_PROGRAM = $(shell sed -n 's/^EXECOBJA *= *//p' $(DARKNET)/Makefile | sed 's/\.o//g')

$(WRONG_PROGRAMS):
	@mkdir -p $(@D)
	$(LINK)

# Allocations that fail.
$(OUT)/tests/test_allocation: FILE_LIBS = -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=aligned_alloc

$(addprefix $(OUT)/tests/,test_chain_driver test_half test_int8 test_packed_conv): FILE_LIBS = -Wl,--wrap=aligned_alloc

# Linked with the project's library and not with Darknet.
$(OUT)/tests/test_library: $(OBJ)/tests/unit/test_library.o $(OUT)/libdarknet-gemm.a
	@mkdir -p $(@D)
	$(LINK)
$(OUT)/tests/test_library: FILE_LIBS = -fopenmp
$(OBJ)/tests/unit/test_library.o: FILE_OPTS = -fopenmp

# A program for Darknets that are built elsewhere: it loads them.
$(OUT)/tests/library_client: $(OBJ)/tests/support/library_client.o
	@mkdir -p $(@D)
	$(LINK)

# OpenCL layers: the ICD loader puts them between the program and the driver (OPENCL_LAYERS).
$(OUT)/tests/layer_%.so: $(OBJ)/tests/support/layer_%.o
	@mkdir -p $(@D)
	$(Q)$(CC) $(GEMM_OPTS) $(CFLAGS) $(LDFLAGS) $(KEPT_LINK) -shared $^ -o $@ -ldl $(LDLIBS)

# A false OpenCL library.
$(OUT)/tests/fake_opencl.so: $(OBJ)/tests/support/fake_opencl.o
	@mkdir -p $(@D)
	$(Q)$(CC) $(GEMM_OPTS) $(CFLAGS) $(LDFLAGS) $(KEPT_LINK) -shared $^ -o $@ -ldl $(LDLIBS)

# Is loaded in front of a library.
$(OUT)/tests/preload_%.so: $(OBJ)/tests/support/preload_%.o
	@mkdir -p $(@D)
	$(Q)$(CC) $(GEMM_OPTS) $(CFLAGS) $(LDFLAGS) $(KEPT_LINK) -shared $^ -o $@ -ldl $(LDLIBS)

# ---- What runs ----
T = $(OUT)/tests
# Networks with a small input: the same layers, in a tenth of the time or less.
SMALL_SIDE = 96
$(BUILD)/small/%.cfg: | data
	@mkdir -p $(@D)
	@sed -E 's/^ *(width|height) *=.*/\1=$(SMALL_SIDE)/' cfg/$*.cfg >$@
# $(call networks,NAME...): for this size of run
networks = $(patsubst %,$(call size,$(BUILD)/small,cfg)/%.cfg,$(1))
NO_LEAKS = ASAN_OPTIONS=detect_leaks=0
CONV_NETWORKS = $T/test_conv_networks

# Also under the sanitizers. Darknet never frees a whole network: the tests of its networks do not
# look for leaks.
UNIT_PROGRAMS = $(addprefix $T/,test_driver test_calibration test_large test_limits test_number test_threads test_gemm test_auto test_tuning test_packed test_pairs test_half test_quads test_int8 test_scales test_packed_conv test_packed_layers test_chain test_chain_driver \
    test_allocation test_training test_bits test_conv test_conv_ends test_conv_hook test_conv_networks test_hook test_host test_hybrid test_others test_plans test_prepare test_batch test_dlclose test_stats test_compare test_ab_rule test_library) \
    $(OUT)/bench/ab $(OUT)/libdarknet.so $(OUT)/libdarknet-gemm.so
# Tests of many kernels, which are not about the cache: PoCL compiles less. run.sh has QUICK_CACHE.
QUICK = $(if $(filter 1,$(OPENCL)),OPENCL_LAYERS=$(abspath $T)/layer_quick.so GEMM_CACHE_DIR=$$QUICK_CACHE)
# PoCL does not optimize, and compiles a kernel in a quarter of the time: for what compares drawn cases. Whole
# detections and networks by scripts keep the optimizer.
PLAIN = $(if $(filter 1,$(OPENCL)),POCL_EXTRA_BUILD_FLAGS=-cl-opt-disable)
QUICK_PLAIN = $(PLAIN) $(QUICK)
# $(call cases,N): so many drawn cases, or half of them under a sanitizer, where each takes several times as long.
cases = --cases $$(($(1) / $(if $(filter 0,$(SANITIZE)),1,2)))
# The longest first. The comparison of 1 to 8 threads takes minutes under a sanitizer, which sees
# nothing new in it: test_packed leaves it out, and test_conv compares 1 to 3.
PACKED = $T/test_packed $(if $(filter 0,$(SANITIZE)),$(call size,--cases 300),--cases $(call size,100,250) --threads 1)
# Its longest part is about what the driver gives a row, and takes minutes under a sanitizer.
LARGE = $T/test_large$(if $(filter 0,$(SANITIZE)),, --without sizes)
CONV = $T/test_conv $(if $(filter 0,$(SANITIZE)),$(call size,--cases 80),--cases $(call size,20,50) --threads 3)
UNIT_COMMANDS = \
    '$(QUICK_PLAIN) $T/test_gemm $(call size,$(call cases,400))' \
    '$(QUICK_PLAIN) $(CONV)' \
    '$T/test_conv_ends' \
    '$T/test_conv_hook' \
    '$T/test_packed_conv' \
    '$T/test_half --seed $$SEED $(call size,$(call cases,60))' \
    '$T/test_int8 --seed $$SEED $(call size,$(call cases,60))' \
    '$T/test_pairs --seed $$SEED $(call size,$(call cases,15))' \
    '$T/test_quads --seed $$SEED' \
    '$T/test_scales' \
    '$(PACKED)' \
    '$T/test_number' \
    '$T/test_limits' \
    '$T/test_calibration' \
    '$T/test_threads' \
    '$T/test_auto' \
    '$T/test_tuning' \
    '$T/test_driver' \
    '$(LARGE)' \
    '$(NO_LEAKS) $T/test_training tests/unit/cfg/layers.cfg tests/unit/cfg/crnn.cfg --forward $(patsubst %,tests/unit/cfg/%.cfg,layers recurrent recurrent-one connected crnn)' \
    '$T/test_packed_layers $(call size,$(call cases,300))' \
    '$T/test_hybrid' \
    '$T/test_chain $(call size,$(call cases,180))' \
    '$T/test_chain_driver' \
    'GEMM_CHECK=1 $T/test_chain_driver' \
    '$T/test_allocation' \
    '$T/test_allocation --check' \
    '$(NO_LEAKS) $T/test_hook tests/unit/cfg/hook.cfg tests/unit/cfg/added.cfg tests/unit/cfg/routes.cfg tests/unit/cfg/chain.cfg' \
    '$(NO_LEAKS) $T/test_plans tests/unit/cfg/plans.cfg tests/unit/cfg/hook.cfg' \
    $(BATCH) \
    '$(NO_LEAKS) $T/test_prepare tests/unit/cfg/chain.cfg' \
    '$(NO_LEAKS) $T/test_plans --decisions $(filter-out %/recurrent.cfg,$(BITS_SMALL)) cfg/strided.cfg $(call size,,cfg/tiny.cfg cfg/yolov3-tiny.cfg $(wildcard $(MODELS)/*.cfg))' \
    '$T/test_dlclose $(OUT)/libdarknet.so' \
    '$T/test_dlclose $(OUT)/libdarknet-gemm.so' \
    '$(NO_LEAKS) $T/test_host tests/unit/cfg/fork.cfg' \
    '$T/test_library' \
    '$(CONV_NETWORKS) --train tests/unit/cfg/layers.cfg' \
    '$(CONV_NETWORKS) tests/unit/cfg/chain.cfg tests/unit/cfg/connected.cfg tests/unit/cfg/others.cfg' \
    '$(NO_LEAKS) $T/test_others tests/unit/cfg/others.cfg' \
    '$(NO_LEAKS) $T/$(REPRODUCIBLE)' \
    '$T/test_stats' \
    '$T/test_ab_rule' \
    'tests/system/test_ab.sh $(OUT)/bench/ab data'
# Darknet's JPEG writer, which test_compare draws with, shifts into the sign bit.
ifneq ($(SANITIZE),1)
UNIT_COMMANDS += '$T/test_compare'
endif
# Every layer that Darknet has: some of its own code shifts and reads what a sanitizer refuses.
ifeq ($(SANITIZE),0)
UNIT_COMMANDS += '$T/test_bits /dev/null tests/unit/cfg/every_layer.cfg'
endif

# Of each family one with a small input, or all that there are.
WINOGRAD_NETWORKS = $(call size,darknet19 densenet201 resnet18 resnext50 yolov3-tiny,*)
SMALL_NETWORKS = $(patsubst %,$(BUILD)/small/%.cfg,darknet19 densenet201 resnet18 resnext50 yolov3-tiny)
SYSTEM_PROGRAMS = $(SMALL_NETWORKS) $(WRONG_PROGRAMS) $T/replay $T/boxes $T/json_flat $T/one_pass $(addprefix $(OUT)/bench/,gemm_bench one_call bench_detect darknet_phases detect_all tune) \
    $(OUT)/bench/untrained_weights $(UPSTREAM)/darknet $T/library_client $(OUT)/libdarknet-gemm.so $(OUT)/libdarknet-gemm.a $(OUT)/wheel/libdarknet.so
# The longest first. Debian's valgrind knows no AVX-512.
SYSTEM_COMMANDS = \
    'tests/system/test_builds.sh' \
    'tests/system/test_detect.sh $(UNTRAINED) "$$MODELS"' \
    'tests/system/test_bench.sh "$$MODELS"' \
    'tests/system/test_setup.sh' \
    '$(call size,$(PLAIN)) $(QUICK) $T/test_gemm --large yes --cases 0 $(call size,--mflop 60)' \
    'tests/system/test_half.sh "$$MODELS"' \
    'tests/system/test_int8.sh "$$MODELS"' \
    'tests/system/test_packed_int8.sh' \
    'tests/system/test_decisions.sh packed' \
    'tests/system/test_library.sh $(UNTRAINED) "$$MODELS"' \
    'tests/system/test_install.sh' \
    'tests/system/test_python.sh "$$MODELS"' \
    'tests/system/test_musl.sh' \
    'tests/system/test_layers.sh' \
    'tests/system/test_host.sh' \
    'tests/system/test_memory.sh' \
    'tests/system/test_container.sh' \
    'tests/system/test_isa.sh' \
    '$(CONV_NETWORKS) --winograd $(call networks,$(WINOGRAD_NETWORKS)) $(call size,,"$$MODELS"/*.cfg) --resize cfg/yolov3-tiny.cfg $(call size,,cfg/yolov2.cfg)' \
    'tests/system/test_explain.sh' \
    'tests/system/test_warnings.sh' \
    'tests/system/test_layering.sh' \
    'tests/system/test_forks.sh' \
    'tests/system/test_docs.sh' \
    'tests/system/test_release.sh' \
    'tests/system/test_reference.sh' \
    'tests/system/test_gemm_bench.sh $(OUT) $(UNTRAINED)' \
    'valgrind -q --error-exitcode=127 --leak-check=full $T/test_packed --isa avx2 --cases $(call size,12,24) --brief yes' \
    'tests/system/test_bad_input.sh $(abspath $(UNTRAINED))' \
    'tests/system/test_cfg.sh $(if $(filter 1,$(OPENCL)),cl hybrid)' \
    'tests/system/test_files.sh' \
    'tests/fuzz/replay.sh $T/replay $(FUZZ_TARGETS)' \
    'tests/system/test_peers.sh' \
    'tests/system/test_tune.sh' \
    'tests/system/test_report.sh' \
    'tests/system/test_run.sh' \
    'tests/system/test_packages.sh'

# ---- The bits of results: make test-bits, UPDATE=1 writes the file of hashes ----
QEMU_ARM = qemu-aarch64 -L /usr/aarch64-linux-gnu
# Networks of the tests, and some others: groups, strides, shortcuts, routes, chains. Under qemu only
# the small ones.
BITS_SMALL = $(patsubst %,tests/unit/cfg/%.cfg,chain connected crnn fork hook layers plans recurrent recurrent-one)
BITS_LARGE = $(patsubst %,cfg/%.cfg,yolov3-tiny kite-demo darknet19 densenet201 resnet18 resnext50 strided tiny) $(wildcard $(MODELS)/*.cfg)
BITS_OF = $(if $(CROSS_COMPILE),$(CROSS_COMPILE:-=),$(shell uname -m)-linux-gnu)
BITS = $(if $(CROSS_COMPILE),$(QEMU_ARM)) $T/test_bits $(if $(filter 1,$(UPDATE)),--update) tests/bits/$(BITS_OF) $(BITS_SMALL) $(if $(CROSS_COMPILE),,$(BITS_LARGE))
# The same on every machine. Layers of Darknet's own code, such as a softmax, are not hashed.
REPRODUCIBLE_SMALL = $(patsubst %,tests/unit/cfg/%.cfg,reproducible chain connected fork others)
REPRODUCIBLE_LARGE = cfg/tiny.cfg $(call size,,$(patsubst %,cfg/%.cfg,yolov3-tiny darknet19 resnet18 resnext50) $(wildcard $(MODELS)/*.cfg))
REPRODUCIBLE = test_bits --reproducible $(if $(filter 1,$(UPDATE)$(CROSS_COMPILE)),--update) tests/bits/reproducible $(REPRODUCIBLE_SMALL) \
    $(if $(filter 0,$(SANITIZE)),$(if $(CROSS_COMPILE),,--vectors $(REPRODUCIBLE_LARGE)))
REPRODUCIBLE_ARM = test_bits --reproducible tests/bits/reproducible $(REPRODUCIBLE_SMALL)
.PHONY: test-bits
test-bits: ALL = 1
test-bits: data $T/test_bits ## test: the bits of results beside files of hashes; UPDATE=1 writes them; CROSS_COMPILE
	@$(RUN) $(call quote,$(BITS)) $(call quote,$(if $(CROSS_COMPILE),$(QEMU_ARM)) $T/$(REPRODUCIBLE))

# All networks of a checkout of AlexeyAB that was built with LIBSO=1 AVX=1 OPENMP=1. ALL=1: larger, 3 pictures.
.PHONY: test-published
test-published: all $T/published
	@[ -r $(call quote,$(ALEXEYAB)/libdarknet.so) ] || { echo 'ALEXEYAB=folder is needed, built with LIBSO=1 AVX=1 OPENMP=1' >&2; exit 1; }
	@$(RUN) 'ALEXEYAB=$(abspath $(ALEXEYAB)) tests/system/test_published.sh'

# The forks themselves, where they are at hand.
# ALEXEYAB=folder is built with LIBSO=1; HANKAI=folder and HANKAI_BLAS=folder in its build/. FLEXIBLAS=libflexiblas.so.
on-forks: all
	@[ -n $(call quote,$(ALEXEYAB)$(HANKAI)$(HANKAI_BLAS)$(FLEXIBLAS)) ] || { echo 'ALEXEYAB=folder, HANKAI=folder, HANKAI_BLAS=folder or FLEXIBLAS=libflexiblas.so is needed' >&2; exit 1; }
	@$(RUN) $(if $(ALEXEYAB)$(HANKAI)$(HANKAI_BLAS),'$(foreach name,ALEXEYAB HANKAI HANKAI_BLAS,$(if $($(name)),$(name)=$(abspath $($(name))))) tests/system/test_layers.sh') \
	    $(if $(FLEXIBLAS),'tests/system/test_flexiblas.sh $(abspath $(FLEXIBLAS))')

ifeq ($(OPENCL),1)
CL_PROGRAMS = $(OUT)/bench/bench_cl $(addprefix $T/,test_cl test_cl_checks test_cl_choice test_cl_devices test_cl_faults test_cl_int8 test_cl_later test_cl_layers test_cl_trials test_cl_tune layer_adreno.so layer_desktop.so layer_fail.so layer_faulty.so layer_launches.so layer_moves.so layer_quick.so layer_strict.so layer_unwritten.so fake_opencl.so preload_no_spawn.so)
# Some of the networks, because PoCL starts slowly: groups, depthwise, all strides, fully connected.
CL_NETWORKS = yolov3-tiny resnext50 densenet201 $(call size,,alexnet resnet18 darknet19)
HALF_NETWORKS = yolov3-tiny resnet18 resnext50 $(call size,,densenet201)
# The devices of tests/support/adreno_devices.h, or the one of ADRENO_DEVICE.
ADRENO = OPENCL_LAYERS=$T/layer_adreno.so:$T/layer_quick.so
# A layer that poses as another device lies over PoCL, and not over a GPU that is there.
ON_POCL = tests/support/on_pocl.sh
# The script after the programs, which leave PoCL's kernels compiled.
CL_COMMANDS = \
    '$(QUICK_PLAIN) $T/test_cl --seed $$SEED --cases $(call size,4,12) && $(QUICK_PLAIN) $T/test_cl_checks --seed $$SEED && tests/system/test_cl_limits.sh $(UNTRAINED)' \
    '$T/test_cl_choice' \
    'tests/system/test_cl.sh $(UNTRAINED)' \
    'tests/system/test_oclgrind.sh' \
    'tests/system/test_cl_faults.sh' \
    'tests/system/test_cl_desktop.sh' \
    'tests/system/test_cl_programs.sh' \
    'tests/system/test_decisions.sh cl' \
    '$(PLAIN) $(ADRENO) $(ON_POCL) $T/test_cl_devices $(call size,--draw $$SEED)' \
    '$(PLAIN) OPENCL_LAYERS=$T/layer_faulty.so $(ON_POCL) $T/test_cl_later' \
    '$(PLAIN) OPENCL_LAYERS=$T/layer_quick.so $T/test_cl_tune' \
    '$(PLAIN) $(ADRENO) $(ON_POCL) $T/test_cl_tune --candidates' \
    '$(PLAIN) OPENCL_LAYERS=$T/layer_fail.so $T/test_cl_layers tests/unit/cfg/hook.cfg tests/unit/cfg/connected.cfg $(call networks,yolov3-tiny resnet18) $(call size,,cfg/darknet19.cfg)' \
    '$(QUICK_PLAIN) tests/system/test_ladder.sh' \
    '$(QUICK_PLAIN) $T/test_packed_layers --row cl --cases $(call size,60,120)' \
    '$(QUICK_PLAIN) $T/test_cl_int8 --seed $$SEED $(call size,--cases 16)' \
    '$(PLAIN) ADRENO_DEVICE=640 $(ADRENO) $(ON_POCL) $T/test_cl_int8 --seed $$SEED --cases $(call size,4,6)' \
    '$(PLAIN) ADRENO_DEVICE=740 ADRENO_DOT=1 $(ADRENO) $(ON_POCL) $T/test_cl_int8 --seed $$SEED --cases $(call size,4,6)' \
    '$(QUICK_PLAIN) $T/test_chain --row cl --cases 2' \
    '$(PLAIN) $T/test_plans --row cl tests/unit/cfg/plans.cfg tests/unit/cfg/hook.cfg' \
    '$(PLAIN) $(CONV_NETWORKS) --row cl --train tests/unit/cfg/layers.cfg' \
    '$(PLAIN) $(CONV_NETWORKS) --row cl tests/unit/cfg/connected.cfg cfg/tiny.cfg cfg/strided.cfg $(call networks,$(CL_NETWORKS)) $(call size,,"$$MODELS"/*.cfg) --resize $(call networks,yolov3-tiny)' \
    '$(QUICK_PLAIN) $(CONV_NETWORKS) --row cl_half $(patsubst %,tests/unit/cfg/%.cfg,connected chain) $(call networks,$(HALF_NETWORKS))'

# The unit tests on other people's OpenCL, with few cases. A compiler that computes nothing is for
# the start of the rows alone.
OPENCLS = pocl intel
ON_OPENCL = tests/support/on_opencl.sh $(1) $(abspath $(BUILD))/opencl/$(1)
define OPENCL_TESTS
    '$(ON_OPENCL) $T/test_cl --seed $$SEED --cases $(call size,2,3)' \
    '$(ON_OPENCL) $T/test_cl_checks --seed $$SEED' \
    'OPENCL_LAYERS=$T/layer_fail.so $(ON_OPENCL) $T/test_cl_layers tests/unit/cfg/hook.cfg cfg/yolov3-tiny.cfg' \
    '$(ON_OPENCL) $T/test_packed_layers --row cl --cases $(call size,30,60)' \
    '$(ON_OPENCL) $T/test_chain --row cl --cases 1' \
    '$(ON_OPENCL) $T/test_cl_int8 --cases $(call size,10,20)' \
    '$(ON_OPENCL) $T/test_plans --row cl tests/unit/cfg/plans.cfg tests/unit/cfg/hook.cfg' \
    '$(ON_OPENCL) $(CONV_NETWORKS) --row cl tests/unit/cfg/connected.cfg $(call networks,yolov3-tiny)' \
    '$(ON_OPENCL) $(CONV_NETWORKS) --row cl_half $(call networks,yolov3-tiny)'
endef
# Only this one has cl_khr_fp16.
OPENCL_HALF = '$(call ON_OPENCL,intel) $(CONV_NETWORKS) --row cl_half_fast $(call networks,yolov3-tiny)'
OPENCL_START = '$(call ON_OPENCL,freedreno) $T/test_cl_checks --start'
OPENCL_COMMANDS = $(foreach name,$(filter-out freedreno,$(OPENCLS)),$(call OPENCL_TESTS,$(name))) $(if $(filter intel,$(OPENCLS)),$(OPENCL_HALF)) $(if $(filter freedreno,$(OPENCLS)),$(OPENCL_START))
# PoCL and LLVM keep to the end what they once took.
ifeq ($(SANITIZE),1)
UNIT_PROGRAMS += $T/test_cl $T/test_cl_checks $T/layer_quick.so
FIRST_UNIT_COMMANDS = '$(QUICK_PLAIN) $T/test_cl --seed $$SEED --cases $(call size,2,8)' '$(QUICK_PLAIN) $T/test_cl_checks --seed $$SEED'
endif
ifeq ($(SANITIZE),thread)
UNIT_PROGRAMS = $T/test_threads $T/test_cl $T/test_cl_layers $T/test_cl_later $T/test_hybrid $T/test_packed $T/test_packed_conv
UNIT_COMMANDS = '$(PACKED)' '$T/test_cl_layers --only threads tests/unit/cfg/hook.cfg' \
    '$T/test_cl --threads' '$(PLAIN) $T/test_cl_later --only threads' '$T/test_packed_conv --only callers' '$T/test_threads --without fork' '$T/test_hybrid'
endif
endif
ifeq ($(SANITIZE),thread)
UNIT_PROGRAMS += $T/test_auto
UNIT_COMMANDS += '$T/test_auto --only callers'
endif

# Other processors, by qemu-user: x86-64 without AVX-512 and without AVX2, arm64, and armv7 with
# VFPv4's fused multiply-add (cortex-a7) and without (cortex-a9). The numbers of cases are small, because
# qemu is 20 times slower. ALL=1: some more. qemu-user aborts in the child of a fork, and its masked loads touch what the
# mask leaves out (GUARD_PAGES).
ARM = $(BUILD)/release-nocl-aarch64-linux-gnu
ARM_PROGRAMS = $(addprefix $(ARM)/,darknet wheel/libdarknet.so libdarknet-gemm.so libdarknet-gemm.a tests/test_packed tests/test_packed_conv tests/test_pairs tests/test_half tests/test_quads tests/test_int8 \
    tests/test_packed_layers tests/test_chain tests/test_chain_driver tests/test_conv tests/test_conv_ends tests/test_library tests/test_threads tests/test_bits)
ARMHF = $(BUILD)/release-nocl-arm-linux-gnueabihf
ARMHF_PROGRAMS = $(addprefix $(ARMHF)/,darknet libdarknet-gemm.so libdarknet-gemm.a tests/test_packed tests/test_packed_conv \
    tests/test_packed_layers tests/test_chain tests/test_chain_driver tests/test_conv tests/test_conv_ends tests/test_threads tests/test_bits)
QEMU_A53 = $(QEMU_ARM) -cpu cortex-a53
QEMU_A76 = $(QEMU_ARM) -cpu cortex-a76
QEMU_ARMHF = qemu-arm -L /usr/arm-linux-gnueabihf
QEMU_A7 = $(QEMU_ARMHF) -cpu cortex-a7
QEMU_A9 = $(QEMU_ARMHF) -cpu cortex-a9
QEMU_COMMANDS = \
    '$(QEMU_A53) $(ARM)/tests/test_packed --isa neon --cases $(call size,16,40) --threads 1' \
    '$(QEMU_ARM) $(ARM)/tests/test_pairs --cases 3' \
    '$(QEMU_ARM) $(ARM)/tests/test_half --cases $(call size,6,9)' \
    '$(QEMU_A76) $(ARM)/tests/test_pairs --isa asimdhp_fp16 --cases 3' \
    '$(QEMU_A76) $(ARM)/tests/test_half --isa asimdhp_fp16 --cases $(call size,6,9)' \
    '$(QEMU_A76) $(ARM)/tests/test_conv --row packed-neon --cases $(call size,8,12) --threads 1' \
    '$(QEMU_A76) $(ARM)/tests/test_conv_ends --isa neon' \
    '$(QEMU_A53) $(ARM)/tests/test_packed_layers --cases $(call size,30,60)' \
    '$(QEMU_A76) $(ARM)/tests/test_packed_conv --isa neon --without callers' \
    '$(QEMU_A53) $(ARM)/tests/test_chain --isa neon --cases $(call size,30,60)' \
    '$(QEMU_A53) $(ARM)/tests/test_chain_driver' \
    'tests/system/test_isa.sh cortex-a53 "neon generic" $(QEMU_A53) $(ARM)/darknet' \
    'tests/system/test_isa.sh cortex-a76 "neon generic" $(QEMU_A76) $(ARM)/darknet' \
    '$(QEMU_A76) $(ARM)/tests/test_quads' \
    '$(QEMU_A76) $(ARM)/tests/test_int8 --cases $(call size,12,20)' \
    '$(QEMU_ARM) $(ARM)/tests/test_quads --isa i8mm_int8' \
    '$(QEMU_ARM) $(ARM)/tests/test_int8 --cases $(call size,12,20) --isa i8mm_int8' \
    'tests/system/test_isa.sh arm64 "neon generic" $(QEMU_ARM) $(ARM)/darknet' \
    '$(QEMU_ARM) $(ARM)/tests/test_bits tests/bits/aarch64-linux-gnu $(BITS_SMALL)' \
    '$(QEMU_ARM) $(ARM)/tests/$(REPRODUCIBLE_ARM)' \
    '$(QEMU_ARM) $(ARM)/tests/test_library --without fork' \
    '$(QEMU_ARM) $(ARM)/tests/test_threads --without fork' \
    'tests/system/test_arm.sh arm64 aarch64-linux-gnu-gcc "$$MODELS" $(abspath $(ARM)) $(QEMU_A53)' \
    'OUT=$(abspath $(ARM)) tests/system/test_layers.sh aarch64-linux-gnu- $(QEMU_ARM)' \
    '$(QEMU_A7) $(ARMHF)/tests/test_packed --isa neon32_fma --cases $(call size,12,20) --threads 1' \
    '$(QEMU_A9) $(ARMHF)/tests/test_packed --isa neon32 --cases $(call size,12,20) --threads 1' \
    '$(QEMU_A7) $(ARMHF)/tests/test_conv --row packed-neon32_fma --cases $(call size,6,8) --threads 1' \
    '$(QEMU_A7) $(ARMHF)/tests/test_conv_ends --isa neon32_fma' \
    '$(QEMU_A9) $(ARMHF)/tests/test_conv --row packed-neon32 --cases $(call size,6,8) --threads 1' \
    '$(QEMU_A9) $(ARMHF)/tests/test_conv_ends --isa neon32' \
    '$(QEMU_A7) $(ARMHF)/tests/test_packed_conv --isa neon32_fma --without callers' \
    '$(QEMU_A7) $(ARMHF)/tests/test_packed_layers --isa neon32_fma --cases $(call size,30,60)' \
    '$(QEMU_A9) $(ARMHF)/tests/test_packed_layers --isa neon32 --cases $(call size,30,60)' \
    '$(QEMU_A7) $(ARMHF)/tests/test_chain --isa neon32_fma --cases $(call size,16,30)' \
    '$(QEMU_A7) $(ARMHF)/tests/test_chain_driver' \
    '$(QEMU_A9) $(ARMHF)/tests/test_chain --isa neon32 --cases $(call size,16,30)' \
    '$(QEMU_A7) $(ARMHF)/tests/$(REPRODUCIBLE_ARM)' \
    '$(QEMU_A7) $(ARMHF)/tests/test_threads --without fork' \
    'tests/system/test_isa.sh cortex-a7 "neon32_fma neon32 generic" $(QEMU_A7) $(ARMHF)/darknet' \
    'tests/system/test_isa.sh cortex-a9 "neon32 generic" $(QEMU_A9) $(ARMHF)/darknet' \
    'tests/system/test_arm.sh armhf arm-linux-gnueabihf-gcc "$$MODELS" $(abspath $(ARMHF)) $(QEMU_A7)'
ifneq ($(filter x86_64,$(shell uname -m)),)
QEMU_HASWELL = qemu-x86_64 -cpu Haswell
QEMU_NEHALEM = qemu-x86_64 -cpu Nehalem
QEMU_COMMANDS += \
    'GUARD_PAGES=readable $(QEMU_HASWELL) $T/test_packed --isa avx2 --cases $(call size,16,40) --threads 1' \
    'GUARD_PAGES=readable $(QEMU_HASWELL) $T/test_conv --row packed-avx2 --cases $(call size,8,12) --threads 1' \
    'GUARD_PAGES=readable $(QEMU_HASWELL) $T/test_conv_ends --isa avx2' \
    'GUARD_PAGES=readable $(QEMU_HASWELL) $T/test_packed_layers --isa avx2 --cases $(call size,50,150)' \
    'tests/system/test_isa.sh haswell "avx2 generic" $(QEMU_HASWELL) ./darknet' \
    '$(QEMU_NEHALEM) $T/test_packed --cases $(call size,16,40) --threads 1' \
    '$(QEMU_NEHALEM) $T/test_conv --row packed --cases $(call size,16,30) --threads 1' \
    '$(QEMU_NEHALEM) $T/test_packed_layers --cases $(call size,30,60)' \
    'tests/system/test_isa.sh nehalem generic $(QEMU_NEHALEM) ./darknet'
endif

# The makes of scripts must not see these either.
unexport ROW ONLY ALL ON

# ---- make test-quick ----
# What a change of one part can break, in a minute on two cores. ONLY=folder takes the list of that
# folder or of the nearest one above it. ROW=name takes tests of that row, and the list of its folder.
# Without both: what most changes can break, without OpenCL, because PoCL compiles for long.
NO_CL = GEMM_CL_LIBRARY=/none
HOOK = '$(NO_LEAKS) $T/test_hook tests/unit/cfg/hook.cfg tests/unit/cfg/added.cfg tests/unit/cfg/routes.cfg tests/unit/cfg/chain.cfg'
BATCH = '$(NO_LEAKS) $T/test_batch $(addprefix tests/unit/cfg/,chain.cfg routes.cfg others.cfg) cfg/kite-demo.cfg'
PLANS = '$(NO_LEAKS) $T/test_plans tests/unit/cfg/plans.cfg tests/unit/cfg/hook.cfg'
BAD_INPUT = 'tests/system/test_bad_input.sh $(abspath $(UNTRAINED))'
PART_. = \
    '$(NO_CL) $T/test_gemm --cases 40' \
    $(BAD_INPUT) \
    '$T/test_packed --cases 60 --threads 1' \
    '$(NO_CL) $T/test_conv --cases 8 --threads 3' \
    '$T/test_conv_ends' \
    '$T/test_conv_hook' \
    '$T/test_quads' \
    '$T/test_int8 --cases 20' \
    '$T/test_packed_layers --cases 40' \
    '$T/test_chain --cases 10' \
    '$T/test_chain_driver' \
    $(HOOK) \
    '$T/test_driver' \
    '$T/test_library' \
    '$T/test_limits' \
    '$T/test_number' \
    'tests/system/test_layering.sh' \
    'tests/system/test_forks.sh' \
    'tests/system/test_docs.sh' \
    'tests/system/test_release.sh'
PART_src/packed = 'tests/system/test_decisions.sh packed' '$T/test_packed --cases 100' '$(NO_CL) $T/test_conv --cases 30 --threads 3' '$T/test_conv_ends' '$T/test_packed_conv' '$T/test_pairs --cases 15' '$T/test_half --cases 20' \
    '$T/test_quads' '$T/test_int8 --cases 30' '$T/test_packed_layers --cases 100' '$T/test_chain --cases 60' '$T/test_chain_driver' $(HOOK) '$T/test_allocation --check' \
    '$(NO_CL) $T/test_gemm --cases 40' 'tests/system/test_layering.sh' 'tests/system/test_isa.sh'
PART_src/cl = 'tests/system/test_decisions.sh cl' '$(QUICK_PLAIN) $T/test_cl --seed $$SEED --small --cases 2' '$(QUICK_PLAIN) $T/test_cl_checks --small' '$T/test_cl_choice' '$(PLAIN) OPENCL_LAYERS=$T/layer_quick.so $T/test_cl_tune' \
    '$(PLAIN) OPENCL_LAYERS=$T/layer_fail.so $T/test_cl_layers tests/unit/cfg/hook.cfg' 'tests/system/test_cl_desktop.sh' \
    '$(QUICK_PLAIN) $T/test_chain --row cl --cases 1' '$(QUICK_PLAIN) $T/test_packed_layers --row cl --cases 30' \
    '$(QUICK_PLAIN) $T/test_cl_int8 --cases 6' '$(PLAIN) $T/test_plans --row cl tests/unit/cfg/plans.cfg tests/unit/cfg/hook.cfg' \
    '$(PLAIN) $(CONV_NETWORKS) --row cl tests/unit/cfg/connected.cfg tests/unit/cfg/chain.cfg'
PART_kernels = $(PART_src/cl)
PART_src/hook = $(HOOK) $(PLANS) $(BATCH) '$T/test_conv_hook' '$(NO_LEAKS) $T/test_host tests/unit/cfg/fork.cfg' '$(CONV_NETWORKS) --train tests/unit/cfg/layers.cfg' \
    '$(CONV_NETWORKS) tests/unit/cfg/chain.cfg tests/unit/cfg/connected.cfg' '$T/test_training tests/unit/cfg/layers.cfg' \
    'tests/system/test_layers.sh' 'tests/system/test_layering.sh' $(BAD_INPUT)
PART_patches = $(PART_src/hook) 'tests/system/test_cfg.sh' 'tests/system/test_files.sh' 'tests/fuzz/replay.sh $T/replay $(FUZZ_TARGETS)' 'tests/system/test_setup.sh'
PART_src/driver = '$T/test_driver' $(PLANS) $(HOOK) '$T/test_large --without sizes' '$T/test_hybrid' '$T/test_limits' '$T/test_library' \
    '$(NO_CL) $T/test_gemm --cases 40' 'tests/system/test_explain.sh' 'tests/system/test_tune.sh' 'tests/system/test_layering.sh'
PART_src/auto = '$T/test_auto' '$T/test_tuning' '$T/test_driver' 'tests/system/test_tune.sh'
PART_src/tune = $(PART_src/auto)
PART_src/hybrid = '$T/test_hybrid' '$(QUICK_PLAIN) $T/test_cl --row hybrid --cases 4'
PART_src/int8 = '$T/test_scales' '$T/test_int8 --cases 60' '$T/test_calibration' 'tests/system/test_int8.sh "$$MODELS"'
PART_src/calibrate = $(PART_src/int8)
PART_src/check = '$(NO_CL) $T/test_gemm --cases 100' '$(NO_CL) $T/test_conv --cases 20' '$T/test_packed_layers --cases 40' '$T/test_packed_conv' \
    '$T/test_int8 --cases 20' 'tests/system/test_gemm_bench.sh $(OUT) $(UNTRAINED)'
PART_src/ref = '$(NO_CL) $T/test_gemm --cases 40' 'tests/system/test_reference.sh'
PART_src/lib = '$T/test_library' '$T/test_dlclose $(OUT)/libdarknet.so' '$T/test_dlclose $(OUT)/libdarknet-gemm.so' \
    'tests/system/test_library.sh $(UNTRAINED) "$$MODELS"' 'tests/system/test_host.sh'
PART_src/util = '$T/test_threads' '$T/test_number' '$T/test_limits' '$T/test_calibration' $(PART_.)
PART_bench = '$T/test_stats' '$T/test_ab_rule' '$T/test_compare' 'tests/system/test_ab.sh $(OUT)/bench/ab data' 'tests/system/test_peers.sh' \
    'tests/system/test_gemm_bench.sh $(OUT) $(UNTRAINED)' 'tests/system/test_report.sh'
PART_demo = 'tests/system/test_demo.sh stock packed'
PART_docs = 'tests/system/test_docs.sh' 'tests/system/test_release.sh'
PART_setup = 'tests/system/test_setup.sh' 'tests/system/test_packages.sh' 'tests/system/test_builds.sh'
PART_mk = $(PART_setup) 'tests/system/test_run.sh'
PART_install = 'tests/system/test_install.sh' $(PART_docs)
PART_python = 'tests/system/test_python.sh "$$MODELS"' $(PART_docs)
PART_src/python = $(PART_python) 'tests/system/test_layering.sh'
PART_examples = $(PART_install) 'tests/system/test_python.sh "$$MODELS"'
# What depends on the release of Debian: compilers, PoCL, programs that the library is tested with. With the
# rows of OpenCL, because GEMM_REQUIRE=all makes a failure of each that is left out.
PART_debian = $(subst $(NO_CL),$(QUICK_PLAIN),$(PART_.)) 'tests/system/test_install.sh' 'tests/system/test_python.sh "$$MODELS"' 'tests/system/test_library.sh $(UNTRAINED) "$$MODELS"' 'tests/system/test_warnings.sh' \
    'tests/system/test_setup.sh' 'tests/system/test_host.sh' 'tests/system/test_layers.sh' 'tests/system/test_reference.sh' \
    '$(QUICK_PLAIN) $T/test_cl --seed $$SEED --small --cases 2' '$(QUICK_PLAIN) $T/test_cl_checks --small' '$(PLAIN) OPENCL_LAYERS=$T/layer_fail.so $T/test_cl_layers tests/unit/cfg/hook.cfg'
PART_cfg = 'tests/system/test_cfg.sh' $(BAD_INPUT) 'tests/system/test_demo.sh stock packed'
PART_tests = $(PART_.) 'tests/system/test_run.sh'

# $(call parts,FOLDER): it and the folders above it, where they have a list
parts = $(if $(PART_$(1)),$(1)) $(if $(filter-out .,$(1)),$(call parts,$(patsubst %/,%,$(dir $(1)))))
PARTS = $(sort $(filter-out .,$(patsubst PART_%,%,$(filter PART_%,$(.VARIABLES)))))
PART = $(firstword $(call parts,$(patsubst %/,%,$(ONLY))))
ifneq ($(ONLY),)
$(if $(and $(filter 1,$(words $(ONLY))),$(wildcard $(ONLY)/.),$(filter-out .,$(PART))),,$(error \
    ONLY='$(ONLY)' is none of these folders, or below one: $(PARTS)))
endif
PART_OF_ROW = $(if $(filter packed packed_%,$(ROW)),src/packed)$(if $(filter cl cl_%,$(ROW)),src/cl)$(if $(filter auto hybrid,$(ROW)),src/$(ROW))
QUICK_COMMANDS = $(if $(ROW),'$(QUICK_PLAIN) $T/test_gemm --row $(ROW) --cases 200' 'tests/system/test_demo.sh $(ROW)' $(PART_$(PART_OF_ROW))) \
    $(if $(ONLY),$(PART_$(PART))) $(if $(ROW)$(ONLY),,$(PART_.))
# $(call programs,COMMANDS): the test programs that they name, and those of scripts
words_of = $(subst ', ,$(subst :, ,$(subst =, ,$(1))))
NEED_NO_PROGRAM = $(patsubst %,tests/system/test_%.sh,layering docs release bad_input isa)
PROGRAMS_test_cl_programs.sh = layer_desktop.so preload_no_spawn.so
PROGRAMS_test_cl_desktop.sh = layer_desktop.so layer_launches.so layer_quick.so one_pass
PROGRAMS_test_decisions.sh = layer_adreno.so layer_desktop.so layer_quick.so
PROGRAMS_test_gemm_bench.sh = test_gemm test_packed test_conv test_cl layer_fail.so
PROGRAMS_test_reference.sh = test_training
programs = $(sort $(filter $T/%,$(words_of)) $(foreach script,$(notdir $(filter tests/system/%,$(words_of))),$(addprefix $T/,$(PROGRAMS_$(script)))) $(if $(filter-out $(NEED_NO_PROGRAM),$(filter tests/system/%,$(words_of))),$(SYSTEM_PROGRAMS) $(DEMO_PROGRAMS)))

# The same programs of a cross build, under qemu-user: riscv64-linux-gnu-, arm-linux-gnueabihf-,
# aarch64-linux-gnu-. It aborts in the child of a fork. x86-64 runs those of i686-linux-gnu- itself.
CROSS_ROOT = /usr/$(CROSS_COMPILE:-=)
EMULATOR = $(if $(IS_I386),$(CROSS_ROOT)/lib/ld-linux.so.2 --library-path $(CROSS_ROOT)/lib, \
    qemu-$(firstword $(subst -, ,$(CROSS_COMPILE))) -L $(CROSS_ROOT))
CROSS_COMMANDS = \
    '$(EMULATOR) $T/test_packed --cases 40 --threads 1' \
    'GEMM_CL_LIBRARY=/none $(EMULATOR) $T/test_gemm --cases 10' \
    '$(EMULATOR) $T/test_chain --cases 10' \
    '$(EMULATOR) $T/test_chain_driver' \
    '$(EMULATOR) $T/test_packed_layers --cases 40' \
    '$(EMULATOR) $T/test_conv --row packed --cases 20 --threads 1' \
    '$(EMULATOR) $T/test_hook tests/unit/cfg/hook.cfg tests/unit/cfg/added.cfg tests/unit/cfg/routes.cfg tests/unit/cfg/chain.cfg' \
    '$(EMULATOR) $T/test_driver' \
    '$(EMULATOR) $T/test_library --without fork' \
    '$(EMULATOR) $T/test_limits' \
    '$(EMULATOR) $T/test_number' \
    'CC=$(CC) tests/system/test_cross.sh $(EMULATOR)'

# Tests that call make get the variables of this command line, and none of its job slots.
# GEMM_LACKS: what this system does not offer, so that no test can have it.
LACKS = $(shell setup/packages.sh lacking -- $(foreach pattern,$(OPTIONAL_test),'$(pattern)'))
RUN = TEST_ALL=$(ALL) GEMM_LACKS=$(call quote,$(LACKS)) MAKEFLAGS=$(call quote,$(filter-out ROW=% ONLY=% ALL=% ON=%,$(MAKEOVERRIDES))) BUILD=$(abspath $(BUILD)) OUT=$(abspath $(OUT)) MODELS=$(call quote,$(MODELS)) tests/support/run.sh

.PHONY: test-quick test-row
ifeq ($(CROSS_COMPILE),)
test-quick: all $(call programs,$(QUICK_COMMANDS)) $(UNTRAINED) $(if $(ROW),test-row) ## test: what most changes can break, in a minute; ROW=packed, ONLY=src/cl, CROSS_COMPILE
	@$(RUN) $(QUICK_COMMANDS)
else
test-quick: data $(call programs,$(CROSS_COMMANDS)) $(OUT)/darknet $(OUT)/libdarknet-gemm.so
	@$(RUN) $(CROSS_COMMANDS)
endif
test-row: all
	@./gemm-bench --list 2>/dev/null | cut -f 1 | grep -qxF -e $(call quote,$(ROW)) || { echo $(call quote,ROW='$(ROW)' is no row: ./gemm-bench --list has all of them) >&2; exit 1; }

# ON: the tests that need something else, by the rules on-... below.
$(if $(filter-out forks opencl qemu debian packages,$(ON)),$(error ON='$(ON)' is none of forks, opencl, qemu, debian and packages))
ifeq ($(SANITIZE),0)
TEST_COMMANDS = $(CL_COMMANDS) $(SYSTEM_COMMANDS) $(DEMO_COMMANDS) $(UNIT_COMMANDS)
test: ## test: each kind of test; SANITIZE=1, thread: the unit tests; ON=qemu, debian ...
test-all: ## test: the same with all cases and networks
test test-all: $(if $(ON),on-$(ON),all $(UNIT_PROGRAMS) $(SYSTEM_PROGRAMS) $(DEMO_PROGRAMS) $(CL_PROGRAMS) $(UNTRAINED))
	$(if $(ON),,@$(RUN) $(TEST_COMMANDS))

# OPENCLS names them, of pocl, intel, llvmpipe and freedreno. The last two need root.
on-opencl: all $(SMALL_NETWORKS) $(CL_PROGRAMS) $T/preload_faults.so $(addprefix $T/,test_packed_layers test_chain test_plans test_conv_networks)
	@$(RUN) $(OPENCL_COMMANDS)

# The builds for arm64 and armhf are configurations of their own: make is called for each once more.
on-qemu: all $T/test_packed $T/test_packed_layers $T/test_conv $T/test_conv_ends
	@$(MAKE) CROSS_COMPILE=aarch64-linux-gnu- $(ARM_PROGRAMS)
	@$(MAKE) CROSS_COMPILE=arm-linux-gnueabihf- $(ARMHF_PROGRAMS)
	@$(RUN) $(QEMU_COMMANDS)
else
# LeakSanitizer of gcc 12 takes some blocks of thread-local memory for those of an old libc, and
# crashes at the end of a program (github.com/google/sanitizers/issues/1322). ASAN_OPTIONS keeps it
# away from them. What LSAN_OPTIONS leaves out is not listed, because tests read what a child prints.
SANITIZER_OPTIONS = LSAN_OPTIONS=suppressions=tests/support/asan.supp:print_suppressions=0 ASAN_OPTIONS=intercept_tls_get_addr=0
test: data $(UNIT_PROGRAMS)
	@$(SANITIZER_OPTIONS) $(RUN) $(FIRST_UNIT_COMMANDS) $(UNIT_COMMANDS)
endif

# A system of another release of Debian, in a folder, as root: trixie or sid. TARGET: what runs there behind make detect.
# The makes of scripts get the other variables of this command line.
RELEASE = trixie
TARGET = test
WITHOUT_ON = MAKEFLAGS=$(call quote,$(filter-out ON=%,$(MAKEOVERRIDES)))
on-debian: packages
	@$(WITHOUT_ON) tests/support/debian.sh $(call quote,$(RELEASE)) $(call quote,$(TARGET)) $(call quote,$(MODELS))

# The packages of other architectures on Debian 13, in a folder, as root. Their tests run under qemu-user.
ARCHES = arm64 armhf riscv64 i386
on-packages: packages
	@$(WITHOUT_ON) tests/support/packages.sh $(ARCHES)
