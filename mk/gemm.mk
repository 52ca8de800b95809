# SPDX-License-Identifier: MIT
# The gemm variants: one object, gemm.o, so that Darknet's Makefile has one thing to link. OpenCL's
# library is no part of a link, because src/cl/device/loader.c finds it at run time. The hook is no
# part of gemm.o, because the patched Darknet's Makefile compiles it.

STUDY_OBJECTS = $(addprefix $(OBJ)/src/,gemm_opt.o opt/tile.o opt/vtile.o)
CL_SOURCES = src/gemm_cl.c $(wildcard src/cl/*.c src/cl/*/*.c)
# First those that take longest.
LONG_SOURCES = $(wildcard src/packed/isa/*.c src/opt/*.c)
GEMM_SOURCES = $(LONG_SOURCES) $(filter-out $(LONG_SOURCES) $(CL_SOURCES) src/lib/% src/hook/% src/python/%,$(wildcard src/*.c src/*/*.c src/*/*/*.c))
ifeq ($(OPENCL),1)
GEMM_SOURCES += $(filter-out src/cl/none.c,$(CL_SOURCES))
EMBEDDED = $(OBJ)/kernels.o
else
GEMM_SOURCES += src/cl/none.c src/cl/rows.c src/cl/form.c
endif

ifneq ($(PROFILE),1)
$(OUT)/gemm.o: $(GEMM_SOURCES:%.c=$(OBJ)/%.o) $(EMBEDDED) $(OUT)/flags
	$(Q)$(LD) -r -o $@ $(filter %.o,$^)
else
# The samples of a profile need no -pg, which only counts calls. So the variants are those of the release, but for the
# loops of the articles where they get other flags than there.
RELEASED = $(BUILD)/release$(if $(filter 1,$(OPENCL)),,-nocl)
STUDIED = $(if $(filter -Ofast,$(STUDY_OPTS)),,$(STUDY_OBJECTS))
$(RELEASED)/gemm.o: FORCE
	@$(MAKE) $(if $(Q),-s) LEVEL=1 PROFILE=0 STUDY_OPTS=-Ofast $@
$(OUT)/gemm.o: $(RELEASED)/gemm.o $(STUDIED) $(OUT)/flags
	$(Q)$(LD) -r -o $@ $(STUDIED) $(filter-out $(STUDIED:$(OBJ)/%=$(RELEASED)/obj/%),$(GEMM_SOURCES:%.c=$(RELEASED)/obj/%.o) $(EMBEDDED:$(OBJ)/%=$(RELEASED)/obj/%))
endif

# What a patched Darknet links: that of the configuration built last (patches/pjreddie/0002).
$(BUILD)/gemm.o: $(OUT)/gemm.o $(call unless,$(OUT),$(BUILD)/gemm.config)
	@cp $< $@ && echo $(OUT) >$(BUILD)/gemm.config

$(OUT)/kernels.c: kernels/embed.sh $(wildcard kernels/*.cl kernels/*.h) $(OUT)/flags
	$(Q)kernels/embed.sh $(filter %.cl,$^) >$@

$(OBJ)/kernels.o: $(OUT)/kernels.c $(OUT)/flags
	@mkdir -p $(@D)
	$(COMPILE)
$(OBJ)/kernels.o: FILE_OPTS = -Wno-overlength-strings

# Fewer questions about aliases, and no better counters for loops of many accesses: gcc needs most of its
# time for them where 64 x 64 steps are unrolled. The code is the same. clang does not know these flags.
QUICK_UNROLL = --param=sccvn-max-alias-queries-per-access=64 --param=iv-max-considered-uses=100 -fno-var-tracking
KNOWN_UNROLL = $(eval KNOWN_UNROLL := $$(shell $(CC) -Werror $(QUICK_UNROLL) -E -x c /dev/null >/dev/null 2>&1 && echo $(QUICK_UNROLL)))$(KNOWN_UNROLL)
# Darknet's flags are what the articles are about.
$(STUDY_OBJECTS): private KEPT_ARITHMETIC =
$(STUDY_OBJECTS): FILE_OPTS = $(STUDY_OPTS) $(KNOWN_UNROLL)

# The tuning table says which version it is of.
TABLES = $(OBJ)/src/tune/table.o
$(TABLES): src/darknet_gemm.h
$(TABLES): FILE_OPTS = -DGEMM_VERSION='"$(VERSION)"'

# Looks at all operands, by vectors.
$(OBJ)/src/packed/half/range.o: FILE_OPTS = -O3

# The reference in double precision should be fast too.
$(patsubst %,$(OBJ)/src/check/%.o,reference conv_check int8_check): FILE_OPTS = -O3

# Calibration adds up many products of 8 bits.
$(OBJ)/src/calibrate/points.o $(OBJ)/src/calibrate/histogram.o: FILE_OPTS = -O3

# Only a micro-kernel's own file may use its instruction set, because the choice is made at run time.
$(OBJ)/src/packed/isa/ukernel_%.o: FILE_OPTS = $(KERNEL_OPTS)
# These are for bits and not for speed.
$(patsubst %,$(OBJ)/src/packed/isa/ukernel_%.o,generic_fused portable_bf16 portable_fp16): FILE_OPTS = $(if $(KERNEL_OPTS),-Os)
IS_X86 = $(filter x86_64-%,$(MACHINE))
$(OBJ)/src/packed/isa/ukernel_avx2.o: ISA = $(if $(IS_X86),-mavx2 -mfma)
$(OBJ)/src/packed/isa/ukernel_avx512.o: ISA = $(if $(IS_X86),-mavx512f -mfma)
IS_ARM64 = $(filter aarch64-%,$(MACHINE))
$(OBJ)/src/packed/isa/ukernel_neon_bf16.o: ISA = $(if $(IS_ARM64),-march=armv8.2-a+bf16)
$(OBJ)/src/packed/isa/ukernel_asimdhp_fp16.o: ISA = $(if $(IS_ARM64),-march=armv8.2-a+fp16)
# gcc computes with vectors of NEON only where it may take denormals for zero, as armv7 does. The
# other liberties of the second of these flags are taken back; with it gcc would also fuse products.
IS_ARM32 = $(filter arm%,$(MACHINE))
NEON32_OPTS = -march=armv7-a -funsafe-math-optimizations -fno-associative-math -fno-reciprocal-math -fsigned-zeros -ftrapping-math -ffp-contract=off
$(OBJ)/src/packed/isa/ukernel_neon32.o: ISA = $(if $(IS_ARM32),$(NEON32_OPTS) -mfpu=neon)
$(OBJ)/src/packed/isa/ukernel_neon32_fma.o: ISA = $(if $(IS_ARM32),$(NEON32_OPTS) -mfpu=neon-vfpv4)
$(OBJ)/src/packed/isa/ukernel_neon_int8.o: ISA = $(if $(IS_ARM64),-march=armv8.2-a+dotprod)
$(OBJ)/src/packed/isa/ukernel_i8mm_int8.o: ISA = $(if $(IS_ARM64),-march=armv8.2-a+i8mm)
$(OBJ)/src/packed/isa/ukernel_avx2_int8.o: ISA = $(if $(IS_X86),-mavx2)
$(OBJ)/src/packed/isa/ukernel_avxvnni_int8.o: ISA = $(if $(IS_X86),-mavx2 -mavxvnni)
$(OBJ)/src/packed/isa/ukernel_avx512_int8.o: ISA = $(if $(IS_X86),-mavx512f -mavx512bw -mavx512vnni)
$(OBJ)/src/packed/isa/ukernel_avx512_bf16.o: ISA = $(if $(IS_X86),-mavx512f -mavx512bw -mavx512bf16 -mfma)
$(OBJ)/src/packed/isa/ukernel_amx_bf16.o: ISA = $(if $(IS_X86),-mavx512f -mavx512bw -mavx512bf16 -mfma -mamx-tile -mamx-bf16)
