# SPDX-License-Identifier: MIT
# The programs. Every other file of bench/ is a module that they share.

PROGRAMS = bench/gemm-bench/gemm_bench.c bench/ab/ab.c bench/detect/bench_detect.c bench/detect/detect_all.c bench/tune/tune.c \
    bench/detect/untrained_weights.c bench/cl/bench_cl.c bench/explain/one_call.c
TEST_PROGRAMS = $(addprefix tests/unit/,test_ab_rule.c test_allocation.c test_auto.c test_batch.c test_half.c test_bits.c test_calibration.c test_chain.c test_chain_driver.c test_cl.c test_cl_checks.c test_cl_choice.c test_cl_devices.c test_cl_faults.c test_cl_int8.c test_cl_later.c test_cl_layers.c test_cl_trials.c test_cl_tune.c test_compare.c test_conv.c test_conv_ends.c test_conv_hook.c \
    test_conv_networks.c test_dlclose.c test_driver.c test_gemm.c test_hook.c test_host.c test_hybrid.c test_int8.c test_large.c test_limits.c test_number.c test_others.c test_packed.c test_pairs.c test_quads.c test_scales.c \
    test_packed_conv.c test_packed_layers.c test_plans.c test_prepare.c test_stats.c test_threads.c test_training.c test_tuning.c) \
    tests/support/boxes.c tests/support/json_flat.c tests/support/one_pass.c tests/support/published.c
MODULES = $(filter-out $(PROGRAMS) $(if $(filter 0,$(OPENCL)),bench/cl/timing.c),$(wildcard bench/*/*.c)) tests/support/activated.c tests/support/operands.c \
    tests/support/child.c tests/support/cl_cases.c tests/support/conv_shape.c tests/support/judge.c tests/support/network.c tests/support/product.c tests/support/rounded.c
OUTSIDE_SRC = $(patsubst %.c,$(OBJ)/%.o,$(wildcard bench/*/*.c tests/*/*.c))

$(OUTSIDE_SRC): INCLUDES = -I$(DARKNET)/include -I$(DARKNET)/src -Ibench -Itests
$(OUTSIDE_SRC): | $(DARKNET).done

$(OUT)/modules.a: $(MODULES:%.c=$(OBJ)/%.o)
	@rm -f $@
	$(Q)$(AR) rcs $@ $^

# Darknet's libraries hold row stock and, with it, the whole table. Programs that are measured or installed
# hold it themselves. The tests share one library, except for those that --wrap functions of it (mk/test.mk), and
# one that loads it by dlopen.
# $(call program,FOLDER,SOURCE,LIBRARIES)
define program
$(OUT)/$(1)/$(basename $(notdir $(2))): $(2:%.c=$(OBJ)/%.o) $(3)
	@mkdir -p $$(@D)
	$$(LINK)

endef
# `make detect` builds this one, and none of the modules.
DETECT_PROGRAM = bench/detect/untrained_weights.c
STATIC_TESTS = $(patsubst %,tests/unit/test_%.c,allocation chain_driver dlclose half int8 packed_conv)
$(eval $(call program,bench,$(DETECT_PROGRAM),$(OUT)/libdarknet.a))
$(eval $(foreach source,$(filter-out $(DETECT_PROGRAM),$(PROGRAMS)),$(call program,bench,$(source),$(OUT)/modules.a $(OUT)/libdarknet.a)))
$(eval $(foreach source,$(STATIC_TESTS),$(call program,tests,$(source),$(OUT)/modules.a $(OUT)/libdarknet.a)))
$(eval $(foreach source,$(filter-out $(STATIC_TESTS),$(TEST_PROGRAMS)),$(call program,tests,$(source),$(OUT)/modules.a $(OUT)/libdarknet.so)))

# ./darknet with clocks in it.
PHASES = load_alphabet_later parse_network_cfg load_weights picture_start picture_prepare picture_fitted network_predict \
    say_detections picture_draw picture_save pthread_create sem_wait
$(OUT)/bench/darknet_phases: FILE_OBJECTS = $(foreach name,$(DARKNET_PROGRAM),$(OUT)/darknet-obj/$(name).o)
$(OUT)/bench/darknet_phases: FILE_LIBS = $(PHASES:%=-Wl,--wrap=%)
$(OUT)/bench/darknet_phases: $(OBJ)/bench/detect/phases.o $(OUT)/libdarknet.a
	@mkdir -p $(@D)
	$(LINK)

# The reference in double precision should be fast too.
$(OBJ)/bench/common/reference.o: FILE_OPTS = -O3
$(OBJ)/bench/gemm-bench/options.o: FILE_OPTS = -DGEMM_VERSION='"$(VERSION)"'
$(OBJ)/bench/gemm-bench/options.o: src/darknet_gemm.h
$(OBJ)/bench/common/machine.o: FILE_OPTS = -include $(OUT)/commit.h \
    -DBENCH_FLAGS='"$(GEMM_OPTS), variants $(GEMM_OPTS) $(STUDY_OPTS), micro-kernels $(GEMM_OPTS) $(KERNEL_OPTS)"'
$(OBJ)/bench/common/machine.o: $(OUT)/commit.h

# A file of its own for each make: two may run at once, in tests for example.
COMMIT_LINE = \#define BENCH_COMMIT "$(or $(shell git describe --always --dirty 2>/dev/null),$(VERSION))"
$(OUT)/commit.h: $(if $(wildcard $(OUT)/commit.h),$(call unless,$(COMMIT_LINE),$(OUT)/commit.h)) | $(OUT)/flags
	@printf '%s\n' $(call quote,$(COMMIT_LINE)) >$@.new-$$$$ && mv $@.new-$$$$ $@
